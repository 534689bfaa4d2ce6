import type { Clock } from './ports.ts';

/** The longest time that a timer of the platform can wait: 2^31 - 1 ms, about 24.8 days. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The machine's clock. Waits of any length; Infinity never fires (the platform's own timers would fire at once). */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(fn, ms) {
    if (ms === Number.POSITIVE_INFINITY) return undefined;
    const wait: { timer: NodeJS.Timeout | undefined } = { timer: undefined };
    const arm = (left: number): void => {
      wait.timer = setTimeout(
        () => {
          if (left > LONGEST_TIMER_MS) arm(left - LONGEST_TIMER_MS);
          else fn();
        },
        Math.min(left, LONGEST_TIMER_MS),
      );
    };
    arm(ms);
    return wait;
  },
  clearTimeout(id) {
    if (id !== undefined) clearTimeout((id as { timer: NodeJS.Timeout | undefined }).timer);
  },
};
