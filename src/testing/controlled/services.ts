import { runAttempt } from '../../attempt/run-attempt.ts';
import type {
  AttemptHandle,
  AttemptParams,
  AttemptResult,
  AttemptRunEvent,
  AttemptServices,
} from '../../attempt/types.ts';
import type { ContextEngine } from '../../engine/contract.ts';
import { HookRegistry } from '../../hooks/registry.ts';
import { redact } from '../../observe/redact.ts';
import type { HookName, HostTool, LogFields, Logger, MessageWriteEvent, ToolResult, TraceEvent } from '../../ports.ts';
import type { AgentMessage } from '../../transcript/messages.ts';
import { ControlledClock, quiet } from './clock.ts';
import { type CodexSetup, ControlledCodex } from './codex.ts';
import { controlledEngine, type EngineSetup } from './engine.ts';
import { ControlledScript, type Plan } from './script.ts';
import { type ControlledSession, controlledSession, type SessionSetup } from './session.ts';

export interface ControlledSetup extends SessionSetup {
  /** What single calls do instead of succeeding. */
  plan?: Plan | undefined;
  codex?: CodexSetup | undefined;
  /** Null: no engine. Default: a per-turn engine with bootstrap, afterTurn and maintain. */
  engine?: EngineSetup | null | undefined;
  /** Hooks that are registered. Default: the four of a turn. */
  hooks?: readonly HookName[] | undefined;
  /** What `before_prompt_build` answers. */
  promptBuild?: Readonly<Record<string, string>> | undefined;
  /** What `before_message_write` answers; without it that hook is not registered unless `hooks` names it. */
  messageWrite?: ((message: AgentMessage) => unknown) | undefined;
  /** Names of tools; each answers `result of <name>` unless `toolResults` says otherwise. */
  tools?: readonly string[] | undefined;
  toolResults?: Readonly<Record<string, ToolResult>> | undefined;
  sessionFile?: string | undefined;
  /** An app-server and a clock that another controlled attempt uses too. */
  shared?: { codex: ControlledCodex; clock: ControlledClock } | undefined;
}

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: LogFields;
}

/** Every port of an attempt, in memory and under the test's control. */
export interface Controlled {
  services: AttemptServices & { session: ControlledSession['store'] };
  script: ControlledScript;
  clock: ControlledClock;
  codex: ControlledCodex;
  session: ControlledSession;
  engine: ContextEngine | null;
  log: LogLine[];
  trace: TraceEvent[];
  /** Log lines of that text. */
  logged(message: string): LogLine[];
  /** Starts an attempt; the run also waits for states. */
  start(params?: Partial<AttemptParams>, services?: Partial<AttemptServices>): ControlledRun;
  /** Starts an attempt and waits for its result. No time passes. */
  run(params?: Partial<AttemptParams>, services?: Partial<AttemptServices>): Promise<AttemptResult>;
}

export interface ControlledRun extends Pick<AttemptHandle, 'attemptId' | 'result' | 'abort'> {
  events: AttemptRunEvent[];
  /** Full paths of the leaves that were entered, in order. */
  paths(): string[];
  /** Resolves when the state or substate (`bootstrap.engine`) has been entered. */
  entered(path: string): Promise<void>;
}

export const PROMPT = 'hello';
export const WORK_FOLDER = '/controlled/work';

const TURN_HOOKS: readonly HookName[] = ['before_prompt_build', 'llm_input', 'llm_output', 'agent_end'];

export function controlledServices(setup: ControlledSetup = {}): Controlled {
  const script = new ControlledScript(setup.plan);
  const clock = setup.shared?.clock ?? new ControlledClock();
  const codex = setup.shared?.codex ?? new ControlledCodex(script, clock, setup.codex);
  const session = controlledSession(script, setup, setup.sessionFile);
  const engine = setup.engine === null ? null : controlledEngine(script, setup.engine);
  const log: LogLine[] = [];
  const trace: TraceEvent[] = [];
  const services = {
    appServer: codex,
    session: session.store,
    engine,
    hooks: controlledHooks(script, setup),
    tools: controlledTools(script, setup),
    logger: recordingLogger(log),
    trace: { emit: (event: TraceEvent) => void trace.push(event), close: async () => {} },
    clock,
  };
  const start: Controlled['start'] = (params = {}, more = {}) =>
    follow(runAttempt({ prompt: PROMPT, cwd: WORK_FOLDER, ...params }, { ...services, ...more }));
  return {
    services,
    script,
    clock,
    codex,
    session,
    engine,
    log,
    trace,
    logged: (message) => log.filter((line) => line.message === message),
    start,
    run: (params, more) => start(params, more).result,
  };
}

/** Follows a running attempt: its events, and a wait for each of its states. */
export function follow(handle: AttemptHandle): ControlledRun {
  const events: AttemptRunEvent[] = [];
  const waiting = new Set<() => void>();
  const paths = () => events.flatMap((event) => (event.type === 'attempt.state' ? [event.path] : []));
  handle.onEvent((event) => {
    events.push(event);
    for (const check of waiting) check();
  });
  return {
    attemptId: handle.attemptId,
    result: handle.result,
    abort: () => handle.abort(),
    events,
    paths,
    async entered(path) {
      await new Promise<void>((resolve) => {
        const check = (): void => {
          if (!paths().some((visited) => visited === path || visited.startsWith(`${path}.`))) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
      await quiet();
    },
  };
}

function controlledHooks(script: ControlledScript, setup: ControlledSetup): HookRegistry {
  const hooks = new HookRegistry(redact);
  const { messageWrite } = setup;
  const names = new Set(setup.hooks ?? TURN_HOOKS);
  if (messageWrite !== undefined) names.add('before_message_write');
  for (const name of names) {
    hooks.register(name, (event, context) =>
      script.run(`hook.${name}`, { event, context }, () => {
        if (name === 'before_message_write') return messageWrite?.((event as MessageWriteEvent).message);
        return name === 'before_prompt_build' ? setup.promptBuild : undefined;
      }),
    );
  }
  return hooks;
}

function controlledTools(script: ControlledScript, setup: ControlledSetup): HostTool[] {
  return (setup.tools ?? []).map((name) => ({
    name,
    description: `the tool ${name}`,
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
    execute: (args) =>
      script.run(`tool.${name}`, args, (): ToolResult => setup.toolResults?.[name] ?? `result of ${name}`),
  }));
}

function recordingLogger(lines: LogLine[]): Logger {
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
