import { RpcError } from '../../codex/errors.ts';
import { AttemptError } from '../../errors.ts';
import type {
  AppServer,
  Clock,
  CodexClient,
  ProcessExit,
  RequestOptions,
  ServerNotification,
  ServerRequest,
} from '../../ports.ts';
import { type ControlledScript, deferred } from './script.ts';
import { ControlledTurn } from './turn.ts';

type Params = Readonly<Record<string, unknown>>;

/** What happens after the answer to `turn/start`. Default: a plain turn that says `ANSWER`. */
export type TurnPlay = (turn: ControlledTurn) => void | Promise<void>;

export interface CodexSetup {
  /** One play per turn, in order; the last one goes on. */
  turns?: readonly TurnPlay[] | undefined;
  /** Model that `thread/start` and `thread/resume` name. */
  model?: string | undefined;
  /**
   * When the notifications of a turn come: `after` the answer was taken in (default), in the `same` read as the answer,
   * or `before` it.
   */
  order?: 'after' | 'same' | 'before' | undefined;
  /** A `turn/interrupt` ends the running turn as interrupted. Default true. */
  interruptible?: boolean | undefined;
}

/** What a refused request rejects with; `request` puts the method in. */
export function refusal(message: string, code = -32600, data?: unknown): RpcError {
  return new RpcError({ code, message, data, method: '' });
}

/** A scripted app-server at the level of JSON-RPC: one client per process, threads and turns numbered from 1. */
export class ControlledCodex implements AppServer {
  readonly clients: ControlledClient[] = [];
  readonly turns: ControlledTurn[] = [];
  readonly setup: CodexSetup;
  readonly script: ControlledScript;
  readonly clock: Clock;
  threads = 0;
  /** How many turns there were before; thread and turn make the keys of rows. */
  turnsBefore = 0;

  constructor(script: ControlledScript, clock: Clock, setup: CodexSetup = {}) {
    this.script = script;
    this.clock = clock;
    this.setup = setup;
  }

  connect(signal: AbortSignal): Promise<CodexClient> {
    return this.script.run('codex.connect', null, () => this.client(), signal);
  }

  /** The live process, or a new one. */
  client(): ControlledClient {
    const last = this.clients.at(-1);
    if (last !== undefined && last.exit === null) return last;
    const client = new ControlledClient(this);
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    this.clients.at(-1)?.end(0);
  }

  /** The turn that a thread runs, if any. */
  running(threadId: unknown): ControlledTurn | undefined {
    return this.turns.findLast((turn) => turn.threadId === threadId && !turn.over);
  }
}

export class ControlledClient implements CodexClient {
  readonly version = '0.171.0';
  readonly codexHome = '/controlled/codex-home';
  readonly exited: Promise<ProcessExit>;
  exit: ProcessExit | null = null;
  readonly #server: ControlledCodex;
  readonly #listeners = new Set<(notification: ServerNotification) => void>();
  readonly #handlers: ((request: ServerRequest) => Promise<unknown> | undefined)[] = [];
  readonly #pending = new Set<(error: Error) => void>();
  #exited: (exit: ProcessExit) => void = () => {};
  #requests = 0;

  constructor(server: ControlledCodex) {
    this.#server = server;
    const { promise, resolve } = deferred<ProcessExit>();
    this.exited = promise;
    this.#exited = resolve;
  }

  request(method: string, params: Params, options: RequestOptions = {}): Promise<unknown> {
    const { script, clock } = this.#server;
    const { timeoutMs = 30_000, signal } = options;
    return new Promise((resolve, reject) => {
      const gone = (error: Error): void => end(() => reject(error));
      const onAbort = (): void => gone(new AttemptError('aborted', `${method} was given up`));
      const timer = clock.setTimeout(
        () => gone(new AttemptError('request_timeout', `codex app-server did not answer ${method}`)),
        timeoutMs,
      );
      const end = (settle: () => void): void => {
        clock.clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#pending.delete(gone);
        settle();
      };
      if (signal?.aborted === true) return onAbort();
      if (this.exit !== null) return gone(new AttemptError('app_server_exited', this.exit.message));
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#pending.add(gone);
      script
        .run(`codex.${method}`, params, () => this.#usual(method, params, (value) => end(() => resolve(value))))
        .then(
          (value) => end(() => resolve(value)),
          (error: unknown) => end(() => reject(named(error, method))),
        );
    });
  }

  /** What a well-behaved app-server answers. `answered` gives the answer early, for what must come right behind it. */
  async #usual(method: string, params: Params, answered: (value: unknown) => void): Promise<unknown> {
    const server = this.#server;
    switch (method) {
      case 'thread/start': {
        server.threads += 1;
        return threadAnswer(`thread-${server.threads}`, server.setup.model);
      }
      case 'thread/resume':
        return threadAnswer(String(params['threadId']), server.setup.model);
      case 'turn/start':
        return this.#startTurn(params, answered);
      case 'turn/interrupt': {
        const turn = server.running(params['threadId']);
        if (turn === undefined) throw refusal('no active turn to interrupt');
        if (server.setup.interruptible !== false) setImmediate(() => turn.interrupted());
        return {};
      }
      case 'thread/read':
        return { thread: { id: params['threadId'], turns: [] } };
      case 'thread/inject_items':
      case 'thread/compact/start':
        return {};
      default:
        throw refusal(`Invalid request: unknown variant \`${method}\``);
    }
  }

  async #startTurn(params: Params, answered: (value: unknown) => void): Promise<unknown> {
    const server = this.#server;
    const { turns: plays = [], order = 'after' } = server.setup;
    const play = plays[Math.min(server.turns.length, plays.length - 1)] ?? ((turn) => turn.plain());
    const turnId = `turn-${server.turnsBefore + server.turns.length + 1}`;
    const turn = new ControlledTurn(this, String(params['threadId']), turnId);
    server.turns.push(turn);
    const value = { turn: { id: turn.turnId, status: 'inProgress', items: [], startedAt: null } };
    if (order === 'before') await play(turn);
    else if (order === 'same') {
      answered(value);
      await play(turn);
    } else setImmediate(() => void play(turn));
    return value;
  }

  onNotification(listener: (notification: ServerNotification) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onServerRequest(handler: (request: ServerRequest) => Promise<unknown> | undefined): () => void {
    this.#handlers.push(handler);
    return () => {
      const at = this.#handlers.indexOf(handler);
      if (at !== -1) this.#handlers.splice(at, 1);
    };
  }

  /** How many listeners and handlers are registered: nothing of an attempt may stay behind. */
  get registered(): number {
    return this.#listeners.size + this.#handlers.length;
  }

  notify(method: string, params: Params): void {
    for (const listener of [...this.#listeners]) listener({ method, params });
  }

  /** Asks the attempt something; resolves with its answer, or with `{ error }` when it refuses. */
  async ask(method: string, params: Params): Promise<unknown> {
    const request = { id: this.#requests++, method, params };
    for (const handler of [...this.#handlers].reverse()) {
      const given = handler(request);
      if (given === undefined) continue;
      return given.catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }));
    }
    return { error: 'refused' };
  }

  /** The process ends: requests under way reject at once. */
  end(code: number | null, signal: string | null = null): void {
    if (this.exit !== null) return;
    const said = signal === null ? `with code ${code}` : `by ${signal}`;
    this.exit = { code, signal, message: `codex app-server ended ${said}` };
    for (const reject of [...this.#pending]) reject(new AttemptError('app_server_exited', this.exit.message));
    this.#exited(this.exit);
  }

  close(): Promise<void> {
    return this.#server.script.run('codex.close', null, () => this.end(0));
  }

  retire(): Promise<void> {
    return this.#server.script.run('codex.retire', null, () => this.end(null, 'SIGKILL'));
  }
}

function named(error: unknown, method: string): unknown {
  if (!(error instanceof RpcError)) return error;
  return new RpcError({ code: error.code, message: error.message, data: error.data, method });
}

function threadAnswer(id: string, model = 'gpt-test') {
  return { thread: { id, sessionId: id, ephemeral: false, status: { type: 'idle' }, turns: [] }, model };
}
