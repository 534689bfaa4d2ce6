import { SimulatedClock } from 'xstate';
import type { Clock } from '../../ports.ts';

/** Where the time of controlled attempts begins, in milliseconds since the epoch. */
export const CONTROLLED_EPOCH = Date.UTC(2026, 0, 1);

/** xstate's simulated clock with a date. Nothing fires unless the test advances it. */
export class ControlledClock implements Clock {
  readonly #simulated = new SimulatedClock();

  now(): number {
    return CONTROLLED_EPOCH + this.#simulated.now();
  }

  setTimeout(fn: () => void, ms: number): unknown {
    return this.#simulated.setTimeout(fn, ms);
  }

  clearTimeout(id: unknown): void {
    if (typeof id === 'number') this.#simulated.clearTimeout(id);
  }

  /** Lets time pass and what falls due happen. */
  increment(ms: number): void {
    this.#simulated.increment(ms);
  }

  /** Lets time pass and what falls due happen, then whatever follows from it without more time. */
  async advance(ms: number): Promise<void> {
    await quiet();
    this.#simulated.increment(ms);
    await quiet();
  }
}

/** Rounds of the event loop after which nothing in memory is under way any more. */
const ROUNDS = 40;

/** Lets everything happen that needs no time to pass. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
