import path from 'node:path';
import { createActor, fromCallback, fromPromise } from 'xstate';
import {
  type AppServerBudgets,
  type AppServerEvent,
  appServerMachine,
  type ProcessActorInput,
} from '../../machines/app-server.ts';
import { AttemptError, messageOf } from '../errors.ts';
import type { AppServer, Clock, CodexClient, Logger, ProcessExit } from '../ports.ts';
import { type CodexCommand, resolveCodexCommand } from './binary.ts';
import { codexEnvironment } from './environment.ts';
import { AppServerProcess, type ClientInfo, type ProcessOptions } from './process.ts';
import { compareVersions, TESTED_CODEX_VERSION } from './version.ts';

export interface CodexAppServerOptions {
  /** Path or name of the codex binary. Default: the one of the dependency `@openai/codex`. */
  command?: string;
  /** More arguments of `codex app-server`. */
  args?: readonly string[];
  /** Configuration for this process alone, each a `-c key=value`; values are TOML. */
  configOverrides?: Readonly<Record<string, string>>;
  /** Working directory of the process. */
  cwd: string;
  /** CODEX_HOME of the process; it must exist. Default: as in `env`. */
  codexHome?: string;
  /** The caller's environment; the process gets only what `codexEnvironment` lets through. */
  env: Readonly<Record<string, string | undefined>>;
  /** Variables that the process gets in any case. */
  extraEnv?: Readonly<Record<string, string>>;
  clientInfo: ClientInfo;
  logger: Logger;
  clock: Clock;
  budgets?: Partial<AppServerBudgets>;
  /** Takes secrets out of texts that reach errors and logs. Default: leaves them as they are. */
  redact?: (text: string) => string;
}

export const DEFAULT_APP_SERVER_OPTIONS = {
  args: [],
  configOverrides: {},
  extraEnv: {},
  budgets: { start: 30_000, close: 1_000 },
  redact: (text: string): string => text,
} as const satisfies Partial<CodexAppServerOptions>;

/** An `AppServer` over one child process at a time. The child ends with us, whichever way we end. */
export function createCodexAppServer(options: CodexAppServerOptions): CodexAppServer {
  return new CodexAppServer(options);
}

const processes = new Map<string, AppServerProcess>();
let launched = 0;

function processOf({ processId }: ProcessActorInput): AppServerProcess {
  const found = processes.get(processId);
  if (found === undefined) throw new AttemptError('internal', `no process ${processId}`);
  return found;
}

/** Provided once; each actor finds its process by its id. */
const machine = appServerMachine.provide({
  actors: {
    process: fromCallback<AppServerEvent, ProcessActorInput>(({ input, sendBack }) => {
      const child = processOf(input);
      child.spawn({
        exited: (message) => sendBack({ type: 'EXITED', message }),
        unreachable: () => sendBack({ type: 'STOP' }),
      });
      return () => void child.release();
    }),
    handshake: fromPromise<unknown, ProcessActorInput>(({ input }) => processOf(input).handshake()),
    endInput: fromPromise<unknown, ProcessActorInput>(async ({ input }) => processOf(input).endInput()),
    terminate: fromPromise<unknown, ProcessActorInput>(async ({ input }) => processOf(input).terminate()),
    kill: fromPromise<unknown, ProcessActorInput>(async ({ input }) => processOf(input).kill()),
  },
});

/** A process and its machine. */
interface Life {
  /** Rejects with AttemptError `codex_*` or `app_server_*`, and then only when the process is gone. */
  readonly ready: Promise<CodexClient>;
  readonly gone: Promise<ProcessExit>;
  /** False as soon as it is not worth a request. */
  usable(): boolean;
  stop(): Promise<void>;
}

function launch(child: AppServerProcess, budgets: AppServerBudgets, clock: Clock, logger: Logger): Life {
  launched += 1;
  const processId = `app-server-${launched}`;
  processes.set(processId, child);
  const actor = createActor(machine, { input: { processId, budgets }, clock });
  const gone = new Promise<ProcessExit>((resolve) => {
    const end = (): void => {
      processes.delete(processId);
      resolve(child.release());
    };
    actor.subscribe({
      complete: end,
      // The machine is total; should it fail all the same, its process must not stay behind.
      error: (error) => {
        logger.error('the app-server machine failed', { error: messageOf(error) });
        child.kill();
        end();
      },
    });
  });
  const leave = async (type: 'STOP' | 'RETIRE'): Promise<void> => {
    if (actor.getSnapshot().status === 'active') actor.send({ type });
    await gone;
  };
  const ready = new Promise<CodexClient>((resolve, reject) => {
    actor.subscribe((snapshot) => {
      if (!snapshot.matches('ready') || child.session === null) return;
      resolve({ ...child.session, exited: gone, close: () => leave('STOP'), retire: () => leave('RETIRE') });
    });
    gone.then(async () => reject(await child.startFailure(actor.getSnapshot().output?.fault?.code)));
  });
  actor.start();
  return {
    ready,
    gone,
    usable: () => actor.getSnapshot().matches('starting') || (actor.getSnapshot().matches('ready') && child.reachable),
    stop: () => leave('STOP'),
  };
}

export class CodexAppServer implements AppServer {
  readonly #options: CodexAppServerOptions;
  #life: Life | null = null;
  #connecting: Promise<CodexClient> | null = null;
  #closes = 0;
  #warned = false;

  constructor(options: CodexAppServerOptions) {
    this.#options = options;
  }

  /**
   * The live client, or a fresh process once the old one is gone: two processes would fight for the lock of a thread.
   * Calls at the same time share one start; a signal gives up the waiting, not the start.
   * Rejects with AttemptError `codex_not_found`, `codex_too_old`, `codex_crashed`, `app_server_silent`,
   * `app_server_not_ready`, `aborted`.
   */
  async connect(signal: AbortSignal): Promise<CodexClient> {
    if (signal.aborted) throw givenUp(signal);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return await abortable(this.#connecting, signal);
  }

  /** Ends the present process by the ladder of the machine; a start under way is given up. May be called twice. */
  async close(): Promise<void> {
    this.#closes += 1;
    await this.#life?.stop();
  }

  async #connect(): Promise<CodexClient> {
    const closes = this.#closes;
    if (this.#life?.usable() === true) return await this.#life.ready;
    if (this.#life !== null) await this.#life.gone;
    if (closes !== this.#closes) {
      throw new AttemptError('app_server_not_ready', 'codex app-server was closed before it started');
    }
    const { clock, logger } = this.#options;
    const budgets = { ...DEFAULT_APP_SERVER_OPTIONS.budgets, ...this.#options.budgets };
    this.#life = launch(new AppServerProcess(this.#processOptions(budgets.close)), budgets, clock, logger);
    const client = await this.#life.ready;
    if (!this.#warned && compareVersions(client.version, TESTED_CODEX_VERSION) > 0) {
      this.#warned = true;
      logger.warn(`codex ${client.version} is newer than ${TESTED_CODEX_VERSION}, the newest version that was tested`);
    }
    return client;
  }

  #processOptions(closeBudget: number): ProcessOptions {
    const { args, configOverrides, extraEnv, redact } = { ...DEFAULT_APP_SERVER_OPTIONS, ...this.#options };
    const { command, cwd, codexHome, env, clientInfo, logger, clock } = this.#options;
    const overrides = Object.entries(configOverrides).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    return {
      command: command === undefined ? resolveCodexCommand() : namedCommand(command),
      args: ['app-server', ...overrides, ...args],
      cwd,
      env: codexEnvironment({ env, codexHome, extraEnv }),
      clientInfo,
      logger,
      clock,
      redact,
      closeBudget,
    };
  }
}

/** A path is taken from our working directory, not from the child's; a bare name is looked up in PATH. */
function namedCommand(command: string): CodexCommand {
  return { file: path.basename(command) === command ? command : path.resolve(command), args: [] };
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(givenUp(signal));
    signal.addEventListener('abort', giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

function givenUp(signal: AbortSignal): AttemptError {
  return new AttemptError('aborted', 'waiting for codex app-server was given up', { cause: signal.reason });
}
