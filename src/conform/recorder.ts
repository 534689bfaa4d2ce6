import type { EngineMethod } from '../engine/call-engine.ts';
import type { CompletionFunction, ContextEngine, EngineInfo } from '../engine/contract.ts';
import { copyOf } from '../engine/copy-of.ts';
import { watchEventLoop } from '../engine/event-loop.ts';
import type { LoadedEngine } from '../engine/load.ts';
import { messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { Hooks, HostTool } from '../ports.ts';
import { boundedHooks, boundedTool, type CompanyBounds } from './bounded-company.ts';
import { difference } from './data.ts';
import { ToolSet } from './tool-set.ts';

/** How a call ended. `given-up`: the host had aborted it before it ended; `refused`: the method has hung before. */
export type CallEnd = 'answered' | 'threw' | 'hung' | 'given-up' | 'refused';

/** One call of the engine, as the host made it. */
export interface RecordedCall {
  method: EngineMethod;
  /** What the host gave; the engine got a copy of its own. */
  params: Readonly<Record<string, unknown>>;
  end: CallEnd;
  /** A copy of the answer, taken at once. */
  answer: unknown;
  /** The redacted text of what was thrown. */
  error: string | null;
  /** The first place in which the engine changed its copy of the parameters. */
  changed: ReturnType<typeof difference>;
  /** Longest standstill of the event loop during the call, in milliseconds; 0 when none was noticed. */
  stallMs: number;
  /** `availableTools` was used in ways that only an array has. */
  toolsTakenForArray: boolean;
  /** Milliseconds since the epoch. */
  endedAt: number;
  /** What `assemble` answered when it was asked the same again at once; null: it was not asked, or not answered. */
  again: { answer: unknown } | null;
}

/** A freshly loaded engine, and where its hooks and tools went. */
export interface FreshEngine extends Pick<LoadedEngine, 'engine' | 'dispose'> {
  completion: CompletionFunction;
  hooks: Hooks;
  tools: readonly HostTool[];
}

export interface RecorderOptions {
  /** Loads the engine anew, as another process would, as far as that goes inside one. */
  load: () => Promise<FreshEngine>;
  /** Told why the engine could not be loaded anew. */
  notReloaded: (why: string) => void;
  /** Told what did not answer in time beside the methods: a hook, a tool. */
  hungBeside: (what: string, found: string) => void;
  /** Milliseconds that one call may take. */
  timeoutMs: number;
}

/** What a recorder tells whoever looks on. */
export interface RecorderListener {
  /** A call begins; the engine has not been called yet. */
  begins(method: EngineMethod, params: Readonly<Record<string, unknown>>): void | Promise<void>;
  ends(call: RecordedCall): void;
  /** The engine is about to be loaded anew. */
  reloads(): void;
}

/** How a path says that the engine was loaded anew. */
export const LOADED_ANEW = 'the engine is loaded anew';

const METHODS = [
  'bootstrap',
  'assemble',
  'ingest',
  'ingestBatch',
  'afterTurn',
  'commitTurn',
  'compact',
  'maintain',
] as const;

/** An answer that changes while the engine works in the background is asked for so often before it counts. */
const TRIES = 3;

/**
 * Stands between the host and the engine. Every call is bounded, measured and written down; `assemble` is asked twice.
 * A method that has hung once is not called again. The engine behind it can be replaced by a freshly loaded one.
 */
export class Recorder {
  /** What the host gets in place of the engine. */
  readonly engine: ContextEngine;
  readonly calls: RecordedCall[] = [];
  listener: RecorderListener | null = null;
  /** The engine is loaded anew before this many more calls; null: never. */
  restartIn: number | null = null;
  /** The method that is called twice in a row, or null. */
  doubled: EngineMethod | null = null;
  longestStallMs = 0;
  readonly #options: RecorderOptions;
  readonly #hung = new Set<EngineMethod>();
  readonly #pending = new Set<Promise<unknown>>();
  #fresh: FreshEngine;
  #company: Pick<FreshEngine, 'completion' | 'hooks' | 'tools'>;

  private constructor(fresh: FreshEngine, options: RecorderOptions) {
    this.#fresh = fresh;
    this.#options = options;
    this.#company = this.#companyOf(fresh);
    this.engine = this.#standIn();
  }

  static async load(options: RecorderOptions): Promise<Recorder> {
    return new Recorder(await options.load(), options);
  }

  get info(): EngineInfo {
    return this.#fresh.engine.info;
  }

  /** What goes with the present engine into an attempt. */
  get company(): Pick<FreshEngine, 'completion' | 'hooks' | 'tools'> {
    return this.#company;
  }

  has(method: EngineMethod | 'dispose'): boolean {
    return typeof this.#fresh.engine[method] === 'function';
  }

  /** Lets the present engine go and loads it anew, once no call is under way. */
  async restart(): Promise<void> {
    await this.idle();
    await this.#reload();
  }

  /** Whether a call is under way. */
  get busy(): boolean {
    return this.#pending.size > 0;
  }

  /** Resolves when no call is under way any more. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Lets the engine itself dispose, past the loader's own care; what went wrong, or null. */
  async disposeOnce(): Promise<string | null> {
    const { engine } = this.#fresh;
    try {
      await this.#bounded(Promise.resolve().then(() => engine.dispose?.()));
      return null;
    } catch (error) {
      if (error instanceof LateError) return `it did not end in ${this.#options.timeoutMs / 1000} s`;
      return `it threw: ${redact(messageOf(error))}`;
    }
  }

  #standIn(): ContextEngine {
    const members = METHODS.filter((method) => this.has(method)).map((method) => [
      method,
      (params: Record<string, unknown>) => this.#tracked(this.#host(method, params)),
    ]);
    const engine: unknown = Object.defineProperty(Object.fromEntries(members), 'info', {
      enumerable: true,
      get: () => this.info,
    });
    // It has every method that the engine has, and the engine was checked when it was loaded.
    return engine as ContextEngine;
  }

  /** One call of the host: what it comes to is the engine's own answer or error. */
  async #host(method: EngineMethod, params: Record<string, unknown>): Promise<unknown> {
    // No host begins a call that it has given up already.
    if (isAborted(params['abortSignal'])) throw new Error('given up');
    if (this.restartIn !== null) {
      if (this.restartIn === 0) await this.#reload();
      else this.restartIn -= 1;
    }
    await this.listener?.begins(method, params);
    if (this.doubled === method) await this.#once(method, params);
    const call = await this.#once(method, params);
    if (call.end === 'answered') return call.answer;
    throw new Error(call.error ?? 'no answer');
  }

  async #reload(): Promise<void> {
    this.restartIn = null;
    this.listener?.reloads();
    // A failure is the loader's to log, and told by the clause of disposing; one that hangs is left behind.
    await this.#bounded(this.#fresh.dispose()).catch(() => undefined);
    try {
      this.#fresh = await this.#options.load();
      this.#company = this.#companyOf(this.#fresh);
    } catch (error) {
      // The examination goes on with the one that was there.
      this.#options.notReloaded(redact(messageOf(error)));
    }
  }

  async #once(method: EngineMethod, params: Record<string, unknown>): Promise<RecordedCall> {
    const call = await this.#forward(method, params);
    if (method === 'assemble' && call.end === 'answered') call.again = await this.#askAgain(call);
    this.calls.push(call);
    this.longestStallMs = Math.max(this.longestStallMs, call.stallMs);
    this.listener?.ends(call);
    return call;
  }

  /** The last of at most three equal questions, as soon as one gets the answer of the one before. */
  async #askAgain(first: RecordedCall): Promise<{ answer: unknown } | null> {
    let before = first.answer;
    let answeredAt = first.endedAt;
    for (let tries = 1; ; tries += 1) {
      // A clock in the answer shows when it has gone on. A timer would wait longer.
      while (Date.now() === answeredAt);
      const next = await this.#forward('assemble', first.params);
      answeredAt = next.endedAt;
      if (next.end !== 'answered') return null;
      if (difference(before, next.answer) === null) return { answer: first.answer };
      if (tries === TRIES) return { answer: next.answer };
      before = next.answer;
    }
  }

  async #forward(method: EngineMethod, params: Readonly<Record<string, unknown>>): Promise<RecordedCall> {
    const call: RecordedCall = {
      method,
      params,
      end: 'refused',
      answer: undefined,
      error: `${method}() is not called any more: it has hung before`,
      changed: null,
      stallMs: 0,
      toolsTakenForArray: false,
      endedAt: Date.now(),
      again: null,
    };
    if (this.#hung.has(method)) return call;
    const own = copyOf(params) as Record<string, unknown>;
    const { availableTools, abortSignal } = own;
    const tools = availableTools instanceof Set ? new ToolSet(availableTools as Set<string>) : null;
    if (tools !== null) own['availableTools'] = tools;
    const { engine } = this.#fresh;
    const implementation: unknown = engine[method];
    const watch = watchEventLoop();
    try {
      const work = Promise.resolve().then(
        () => Reflect.apply(implementation as () => unknown, engine, [own]) as unknown,
      );
      call.answer = copyOf(await this.#bounded(work));
      call.end = 'answered';
      call.error = null;
    } catch (error) {
      const isLate = error instanceof LateError;
      call.end = isLate ? 'hung' : isAborted(abortSignal) ? 'given-up' : 'threw';
      call.error = isLate ? `no answer in ${this.#options.timeoutMs / 1000} s` : redact(messageOf(error));
      if (isLate) this.#hung.add(method);
    } finally {
      call.stallMs = Math.round(watch.stop());
      call.endedAt = Date.now();
    }
    call.changed = difference(params, own);
    call.toolsTakenForArray = tools?.takenForArray ?? false;
    return call;
  }

  /** No timer of the examination's own clock fires, so what has no other bound gets one here. */
  #companyOf({ completion, hooks, tools }: FreshEngine): Pick<FreshEngine, 'completion' | 'hooks' | 'tools'> {
    const { timeoutMs, hungBeside } = this.#options;
    const bounds: CompanyBounds = {
      bounded: (work) => this.#bounded(work),
      isLate: (error) => error instanceof LateError,
      hung: (what) => hungBeside(what, `no answer in ${timeoutMs / 1000} s`),
    };
    return {
      completion,
      hooks: boundedHooks(hooks, bounds),
      tools: tools.map((tool) => boundedTool(tool, bounds)),
    };
  }

  #bounded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new LateError()), this.#options.timeoutMs);
      work.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = work.then(
      () => this.#pending.delete(settled),
      () => this.#pending.delete(settled),
    );
    this.#pending.add(settled);
    return work;
  }
}

class LateError extends Error {
  override readonly message = 'no answer in time';
}

function isAborted(signal: unknown): boolean {
  return signal instanceof AbortSignal && signal.aborted;
}
