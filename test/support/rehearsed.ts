import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAttempt } from '../../src/attempt/run-attempt.ts';
import type {
  AttemptHandle,
  AttemptParams,
  AttemptResult,
  AttemptRunEvent,
  AttemptServices,
} from '../../src/attempt/types.ts';
import { type CodexAppServer, type CodexAppServerOptions, createCodexAppServer } from '../../src/codex/client.ts';
import { redact } from '../../src/observe/redact.ts';
import { silentLogger } from '../../src/observe/silent.ts';
import type { SessionStore } from '../../src/ports.ts';
import { defaultAnswer } from '../../src/rehearsal/default-answer.ts';
import { rehearsalSetup } from '../../src/rehearsal/home.ts';
import type { ModelRequestBody } from '../../src/rehearsal/request.ts';
import type { RehearsalScript, RehearsalStep } from '../../src/rehearsal/script.ts';
import { type RehearsalModel, startRehearsalModel } from '../../src/rehearsal/server.ts';
import { systemClock } from '../../src/system-clock.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';
import { openSessionStore } from '../../src/transcript/store.ts';
import { processesNaming } from '../wire/fakes/processes.ts';

type Prompted = Partial<AttemptParams> & { prompt: string };

export interface RehearsedRun {
  result: AttemptResult;
  events: AttemptRunEvent[];
}

/** A session in a temp folder, with the real app-server before the offline model. */
export interface RehearsedSession {
  readonly folder: string;
  readonly sessionFile: string;
  readonly codexHome: string;
  readonly model: RehearsalModel;
  readonly appServer: CodexAppServer;
  /** Bodies of this session's model requests so far. */
  bodies(): ModelRequestBody[];
  /** The body of the last of them. */
  lastBody(): ModelRequestBody;
  store(): SessionStore;
  /** The rows of the session file as they are on disk. */
  rows(): Promise<AgentMessage[]>;
  /** Starts an attempt; `run` waits for its result. */
  start(params: Prompted, services?: Partial<AttemptServices>): AttemptHandle;
  run(params: Prompted, services?: Partial<AttemptServices>): Promise<RehearsedRun>;
  close(): Promise<void>;
}

export interface RehearsedOptions {
  streamMaxRetries?: number;
  requestMaxRetries?: number;
  /** More configuration of the app-server; values are TOML. */
  configOverrides?: Readonly<Record<string, string>>;
}

/** JSON: goes to another process as an argument. */
export type RehearsedLaunch = Required<
  Pick<CodexAppServerOptions, 'cwd' | 'codexHome' | 'configOverrides' | 'extraEnv' | 'clientInfo'>
>;

/** An app-server as a rehearsal has it. Its shells must not run the login scripts of whoever runs the tests. */
export function rehearsedAppServer(launch: RehearsedLaunch): CodexAppServer {
  const env = { ...process.env, HOME: launch.cwd };
  return createCodexAppServer({ ...launch, env, logger: silentLogger, clock: systemClock, redact });
}

/** An offline model and one app-server before it, for one session after the other. */
export interface RehearsalBench {
  readonly model: RehearsalModel;
  readonly appServer: CodexAppServer;
  readonly codexHome: string;
  /** How another process of this machine gets an app-server of its own before the same model and home. */
  readonly launch: RehearsedLaunch;
  /** Ids of the app-server processes of this bench that are alive. */
  processes(): number[];
  /** A new session. Its steps answer the model requests from now on, one each; then the default answer. */
  session(steps?: readonly RehearsalStepOf[]): Promise<RehearsedSession>;
  /** The rollout file of a native thread. */
  rolloutOf(threadId: string): Promise<string>;
  close(): Promise<void>;
}

type RehearsalStepOf = RehearsalStep | ((body: ModelRequestBody) => RehearsalStep);

/** One session with a model and an app-server of its own. */
export async function rehearsedSession(
  options: RehearsedOptions & { script?: RehearsalScript } = {},
): Promise<RehearsedSession> {
  const rig = await openRig(options, options.script);
  const session = await openSession(rig, rig.folder);
  return { ...session, close: rig.close };
}

export async function rehearsalBench(options: RehearsedOptions = {}): Promise<RehearsalBench> {
  let steps: RehearsalStepOf[] = [];
  const next = (body: ModelRequestBody): RehearsalStep => {
    const step = steps.shift();
    if (step === undefined) return defaultAnswer(body);
    return typeof step === 'function' ? step(body) : step;
  };
  const rig = await openRig(options, { steps: [next], atEnd: 'repeat-last' });
  return {
    model: rig.model,
    appServer: rig.appServer,
    codexHome: rig.codexHome,
    launch: rig.launch,
    processes: () => processesNaming(rig.model.baseUrl),
    async session(wanted = []) {
      steps = [...wanted];
      const folder = await mkdtemp(join(rig.folder, 'session-'));
      return openSession(rig, folder);
    },
    async rolloutOf(threadId) {
      const found = await readdir(rig.codexHome, { recursive: true });
      const [file, ...others] = found.filter((name) => name.endsWith(`${threadId}.jsonl`));
      if (file === undefined || others.length > 0) throw new Error(`${found.length} rollouts of ${threadId}`);
      return join(rig.codexHome, file);
    },
    close: rig.close,
  };
}

interface Rig {
  folder: string;
  codexHome: string;
  launch: RehearsedLaunch;
  model: RehearsalModel;
  appServer: CodexAppServer;
  close(): Promise<void>;
}

async function openRig(options: RehearsedOptions, script?: RehearsalScript): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'codex-attempt-test-'));
  const model = await startRehearsalModel(script === undefined ? {} : { script });
  const setup = await rehearsalSetup({ ...options, sideFolder: join(folder, 'home'), baseUrl: model.baseUrl });
  const launch: RehearsedLaunch = {
    cwd: folder,
    codexHome: setup.codexHome,
    configOverrides: { ...setup.configOverrides, ...options.configOverrides },
    extraEnv: setup.env,
    clientInfo: { name: 'codex-attempt-machine', title: 'codex-attempt-machine', version: '0.0.0' },
  };
  const appServer = rehearsedAppServer(launch);
  return {
    folder,
    codexHome: setup.codexHome,
    launch,
    model,
    appServer,
    async close() {
      await appServer.close();
      await model.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function openSession(rig: Rig, folder: string): Promise<RehearsedSession> {
  const { model, appServer, codexHome } = rig;
  await mkdir(folder, { recursive: true });
  const sessionFile = join(folder, 'session.jsonl');
  const earlier = model.requests.length;
  const bodies = () => model.requests.slice(earlier).map((request) => request.body);
  const store = () => openSessionStore({ sessionFile, realm: 'rehearsal', cwd: folder, clock: systemClock });
  const start: RehearsedSession['start'] = (params, services = {}) =>
    runAttempt(
      { cwd: folder, provider: 'rehearsal', realm: 'rehearsal', ...params },
      { appServer, session: store(), clock: systemClock, ...services },
    );
  return {
    folder,
    sessionFile,
    codexHome,
    model,
    appServer,
    bodies,
    lastBody: () => bodies().at(-1) ?? {},
    store,
    async rows() {
      const view = await store().transcript.read(new AbortController().signal);
      return view.entries.map((entry) => entry.message);
    },
    start,
    async run(params, services) {
      const handle = start(params, services);
      const events: AttemptRunEvent[] = [];
      handle.onEvent((event) => events.push(event));
      return { result: await handle.result, events };
    },
    async close() {},
  };
}
