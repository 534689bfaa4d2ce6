import { AttemptError, messageOf } from '../errors.ts';
import { EXIT, type ExitCode } from './exit.ts';

/** What the guard needs of a process. */
export interface GuardedProcess {
  exitCode?: number | string | null | undefined;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  exit(code: number): void;
}

/** How the guard speaks to a person. */
export interface Voice {
  /** A line, also with `--quiet`. */
  error(text: string): void;
  warn(text: string): void;
  /** The stack of a fault. */
  debug(text: string): void;
}

/** What a wait is bounded by. */
export interface WaitOptions {
  /** Milliseconds. */
  ms: number;
  /** The error when it takes longer, or can never end. `why` completes a sentence: `took longer than 30 s`. */
  late: (why: string) => AttemptError;
  /** Gives the waiting up with AttemptError `aborted`. */
  signal?: AbortSignal;
}

/**
 * Milliseconds after a fault in which a command may end in order: what an abort takes at most (interrupt, mirror,
 * finalizer) and the closing of the app-server.
 */
export const FAULT_GRACE_MS = 15_000;

const INSIDE = 'an engine, a hook or a tool';

/**
 * Code of others runs in this process. The guard sees to it that a command ends with an exit code of the table and a
 * line that says why, also when that code exits the process, throws outside every call, or leaves a wait that can never
 * end.
 */
export class Guard {
  /** Speaks for the guard; a command with a status line puts its own here. */
  voice: Voice;
  /** The last line of stdout when the command ends with this error; null: it has been written, or there is none. */
  lastLine: ((error: unknown) => string) | null = null;
  readonly #process: GuardedProcess;
  readonly #writeNow: (text: string) => void;
  readonly #controller = new AbortController();
  readonly #waits = new Set<() => void>();
  #giveUp: (error: AttemptError) => void = () => undefined;
  #fault: AttemptError | null = null;
  /** The code that is certain, whatever ends the process. */
  #settled: ExitCode | null = null;
  /** Why we exit the process in the middle of it. */
  #forced: AttemptError | null = null;
  #over = false;

  /** Watches `process` from now on; `writeNow` writes to stdout at once. */
  constructor(process: GuardedProcess, voice: Voice, writeNow: (text: string) => void) {
    this.#process = process;
    this.voice = voice;
    this.#writeNow = writeNow;
    process.on('uncaughtException', (error) => this.#onFault(error));
    process.on('unhandledRejection', (reason) => this.#onFault(reason));
    process.on('beforeExit', () => this.#onIdle());
    process.on('exit', () => this.#onExit());
  }

  /** What was thrown outside every call; null: nothing. It has been told. */
  get fault(): AttemptError | null {
    return this.#fault;
  }

  /** Aborts with the fault. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The command. After a fault it may end in order for `FAULT_GRACE_MS`; then this rejects with the fault. */
  bounded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      work.then(resolve, reject);
    });
  }

  /** Waits for code of others. Rejects with what it rejects with, the fault, `options.late`, or `aborted`. */
  waitFor<T>(work: Promise<T>, { ms, late, signal }: WaitOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: AttemptError): void => reject(error);
      const stop = (): void => fail(new AttemptError('aborted', 'stopped before the attempt began'));
      const broken = (): void => fail(this.#fault ?? new AttemptError('internal', 'a fault'));
      // It must not keep the process alive: an event loop with nothing else in it tells that the wait is without end.
      const timer = setTimeout(() => fail(late(`took longer than ${ms / 1_000} s`)), ms).unref();
      this.#waits.add(idle);
      signal?.addEventListener('abort', stop, { once: true });
      this.signal.addEventListener('abort', broken, { once: true });
      if (signal?.aborted === true) stop();
      if (this.signal.aborted) broken();
      work.then(resolve, reject).finally(() => {
        clearTimeout(timer);
        this.#waits.delete(idle);
        signal?.removeEventListener('abort', stop);
        this.signal.removeEventListener('abort', broken);
      });
      function idle(): void {
        fail(late('waits for something that never happens'));
      }
    });
  }

  /** The outcome is told: from here on the exit code is this, whatever else ends the process. */
  settle(code: ExitCode): void {
    this.#settled = code;
    this.lastLine = null;
  }

  /** Exits at once, because of `error`, which a person was told of; the last line is still written. */
  exitNow(error: AttemptError, code: ExitCode): void {
    this.#forced = error;
    this.#process.exit(code);
  }

  /** The command has ended; the exit that follows is ours. */
  over(): void {
    this.#over = true;
  }

  #onFault(thrown: unknown): void {
    const text = `${INSIDE} threw outside of every call (a timer or a promise that nobody waits for): ${messageOf(thrown)}`;
    if (thrown instanceof Error && thrown.stack !== undefined) this.voice.debug(thrown.stack);
    if (this.#settled !== null || this.#over) {
      this.voice.warn(text);
      return;
    }
    // The first one ends the command; the others are its echoes, or they are in the log.
    if (this.#fault !== null) return;
    this.#fail(new AttemptError('internal', text, { cause: thrown }));
  }

  #fail(fault: AttemptError): void {
    this.#fault = fault;
    this.voice.error(`${fault.message} (${fault.code})`);
    setTimeout(() => this.#giveUp(fault), FAULT_GRACE_MS).unref();
    this.#controller.abort(fault);
  }

  /** Nothing is left that could wake us, and yet the command has not ended. */
  #onIdle(): void {
    if (this.#over) return;
    const waits = [...this.#waits];
    if (waits.length > 0) {
      for (const idle of waits) idle();
    } else {
      if (this.#fault === null)
        this.#fail(new AttemptError('internal', `${INSIDE} never answers, and nothing else is under way`));
      if (this.#fault !== null) this.#giveUp(this.#fault);
    }
    // One more round, in which what was rejected here is told.
    setImmediate(() => undefined);
  }

  #onExit(): void {
    if (this.#over) return;
    const ended = `the process was ended from inside: ${INSIDE} called process.exit()`;
    if (this.#settled !== null) {
      this.voice.warn(`${ended} after the outcome was told`);
      this.#process.exitCode = this.#settled;
      return;
    }
    const error = this.#forced ?? this.#fault ?? new AttemptError('internal', ended);
    if (this.#forced === null && this.#fault === null) this.voice.error(`${ended} (internal)`);
    if (this.lastLine !== null) this.#writeNow(this.lastLine(error));
    if (this.#forced === null) this.#process.exitCode = EXIT.failed;
  }
}
