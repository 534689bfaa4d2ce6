import type { Clock } from '../../../src/ports.ts';

/** Time that passes when the test says so. `pending` counts the timers that are set. */
export class FakeClock implements Clock {
  #now = 0;
  #nextId = 1;
  readonly #timers = new Map<number, { at: number; fn: () => void }>();

  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): unknown {
    const id = this.#nextId++;
    this.#timers.set(id, { at: this.#now + ms, fn });
    return id;
  }

  clearTimeout(id: unknown): void {
    if (typeof id === 'number') this.#timers.delete(id);
  }

  /** Fires what falls due, in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.#now = due[1].at;
      due[1].fn();
    }
    this.#now = until;
  }
}

/** Real time, for tests with real processes. */
export const realClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => (ms === Infinity ? null : setTimeout(fn, ms)),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout | undefined),
};
