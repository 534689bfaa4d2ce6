import { type CliIo, isBrokenPipe, unwritable } from './io.ts';
import type { StopSignals } from './signals.ts';

/** What is stopped. Before something is attached, a stop only aborts `signal`. */
export interface Stoppable {
  /** What a person calls it: `attempt`. */
  name: string;
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
  /** Why stdout cannot be written, other than for want of a reader. The attempt goes on: its session is kept. */
  readonly outputError: Error | null;
  attach(target: Stoppable): void;
  /** Signals have their default meaning again. */
  release(): void;
}

/** Watches from now on. The first signal aborts; the second kills and ends the process with `exit`. */
export function watchForStop(io: CliIo, onStopSignal: StopSignals, exit: () => void): Stop {
  const controller = new AbortController();
  let target: Stoppable | null = null;
  let signals = 0;
  let unread = false;
  let outputError: Error | null = null;

  const release = onStopSignal((signal) => {
    signals += 1;
    if (signals > 1) {
      target?.kill();
      exit();
      return;
    }
    if (target !== null) target.said(`${signal}: stopping the ${target.name}; once more ends it at once`);
    controller.abort();
    target?.abort();
  });
  io.stdout.on('error', (error) => {
    if (outputError !== null || !isBrokenPipe(error)) {
      outputError ??= unwritable(error);
      return;
    }
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
    get outputError() {
      return outputError;
    },
    attach(given) {
      target = given;
      if (controller.signal.aborted) given.abort();
    },
    release,
  };
}
