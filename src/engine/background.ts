import type { Clock } from '../ports.ts';

/** Work of one session that goes on after its attempt, one piece at a time, in the order it came (spec D4). */
export interface MaintenanceLane {
  /** Takes the work and returns at once. `onError` gets what the work throws; the next piece runs all the same. */
  run(work: () => Promise<unknown>, onError: (error: unknown) => void): void;
  /** True when all work is done, false when `timeoutMs` passed first; the work then goes on. */
  idle(timeoutMs: number, clock: Clock): Promise<boolean>;
}

// One map per process: the next attempt on a session file must find the lane that the last one filled.
const lanes = new Map<string, Promise<void>>();

/** The lane of a session file. A lane without work takes no memory. */
export function maintenanceLane(sessionFile: string): MaintenanceLane {
  return {
    run(work, onError) {
      const tail = (lanes.get(sessionFile) ?? Promise.resolve()).then(work).then(
        () => undefined,
        (error: unknown) => onError(error),
      );
      const kept = tail.then(() => {
        if (lanes.get(sessionFile) === kept) lanes.delete(sessionFile);
      });
      lanes.set(sessionFile, kept);
    },
    async idle(timeoutMs, clock) {
      const tail = lanes.get(sessionFile);
      if (tail === undefined) return true;
      let timer: unknown;
      const late = new Promise<false>((resolve) => {
        timer = clock.setTimeout(() => resolve(false), timeoutMs);
      });
      try {
        return await Promise.race([tail.then(() => true), late]);
      } finally {
        clock.clearTimeout(timer);
      }
    },
  };
}
