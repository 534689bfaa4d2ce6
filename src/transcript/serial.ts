import { AttemptError } from '../errors.ts';

/** Runs tasks one after the other, in the order of the calls; a task that fails does not stop the next. */
export type Serial = <T>(task: () => Promise<T>) => Promise<T>;

/** A queue of its own. */
export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = last.then(
      () => task(),
      () => task(),
    );
    last = run;
    return run;
  };
}

/**
 * Starts `task` and rejects with AttemptError `aborted` as soon as the signal aborts; the task itself goes on. Does
 * not start it when the signal has aborted already.
 */
export async function untilAborted<T>(task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await task();
  if (signal.aborted) throw aborted();
  let stop: (() => void) | undefined;
  const whenAborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(aborted());
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([task(), whenAborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

/** The error of a store call that was given up. */
export function aborted(): AttemptError {
  return new AttemptError('aborted', 'The session was given up before it was ready: the attempt was aborted.');
}
