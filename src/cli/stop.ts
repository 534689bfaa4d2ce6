import { EXIT } from './exit.ts';
import { type CliIo, isBrokenPipe } from './io.ts';
import type { StopSignals } from './signals.ts';

/** What is stopped. Before something is attached, a stop only aborts `signal`. */
export interface Stoppable {
  /** Orderly; may be called again. */
  abort(): void;
  /** At once, because the process exits now. */
  kill(): void;
  /** Tells the person what a stop does. */
  said(text: string): void;
}

/** The ways in which a run is stopped from outside: a signal, or nobody reads its output any more. */
export interface Stop {
  /** Aborts with the first of them. */
  readonly signal: AbortSignal;
  /** Whether it was a signal. */
  readonly signalled: boolean;
  /** Whether nobody reads the output any more. */
  readonly unread: boolean;
  attach(target: Stoppable): void;
  /** Signals have their default meaning again. */
  release(): void;
}

/** Watches from now on. The first signal aborts; the second kills and exits with 130. */
export function watchForStop(io: CliIo, onStopSignal: StopSignals, exit: (code: number) => void): Stop {
  const controller = new AbortController();
  let target: Stoppable | null = null;
  let signals = 0;
  let unread = false;

  const release = onStopSignal((signal) => {
    signals += 1;
    if (signals > 1) {
      target?.kill();
      exit(EXIT.aborted);
      return;
    }
    target?.said(`${signal}: stopping the attempt; once more ends it at once`);
    controller.abort();
    target?.abort();
  });
  io.stdout.on('error', (error) => {
    if (!isBrokenPipe(error)) target?.said(`stdout cannot be written: ${error.message}`);
    unread = true;
    controller.abort();
    target?.abort();
  });

  return {
    signal: controller.signal,
    get signalled() {
      return signals > 0;
    },
    get unread() {
      return unread;
    },
    attach(given) {
      target = given;
      if (controller.signal.aborted) given.abort();
    },
    release,
  };
}
