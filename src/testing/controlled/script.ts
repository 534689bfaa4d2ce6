/**
 * What a controlled port does on one call. `hold` waits until the test settles it; `hang` never answers, but gives up
 * when its signal aborts, as a port shall; a deaf one does not even do that.
 */
export type Step =
  | { kind: 'pass' }
  | { kind: 'fail'; error: unknown }
  | { kind: 'answer'; value: unknown }
  | { kind: 'hang'; deaf: boolean }
  | { kind: 'hold'; promise: Promise<Step> };

export const pass: Step = { kind: 'pass' };
export const hang: Step = { kind: 'hang', deaf: false };
export const deaf: Step = { kind: 'hang', deaf: true };
export const fail = (error: unknown): Step => ({
  kind: 'fail',
  error: typeof error === 'string' ? new Error(error) : error,
});
/** Instead of what the port would have said. */
export const answer = (value: unknown): Step => ({ kind: 'answer', value });

/** A call that stands still until `pass`, `fail` or `answer` is called. */
export interface Gate {
  step: Step;
  pass(): void;
  fail(error: unknown): void;
  answer(value: unknown): void;
}

export function gate(): Gate {
  const { promise, resolve } = deferred<Step>();
  return {
    step: { kind: 'hold', promise },
    pass: () => resolve(pass),
    fail: (error) => resolve(fail(error)),
    answer: (value) => resolve(answer(value)),
  };
}

/** A promise that is settled from outside. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Steps by call name: one for every call, or a list in the order of the calls, the rest passing. */
export type Plan = Readonly<Record<string, Step | readonly Step[]>>;

export interface ControlledCall {
  name: string;
  params: unknown;
  /** It has answered or failed. */
  settled: boolean;
  /** The signal that the caller gave, if any. */
  signal?: AbortSignal;
}

/**
 * One ordered list of every call that an attempt made of its ports, and what each call does. Names are
 * `transcript.append`, `binding.write`, `journal.clear`, `outbox.add`, `codex.turn/start`, `engine.assemble`,
 * `hook.agent_end`, `tool.lookup` and so on.
 */
export class ControlledScript {
  readonly calls: ControlledCall[] = [];
  readonly #steps = new Map<string, Step[]>();
  readonly #always = new Map<string, Step>();
  readonly #waiting = new Set<() => void>();

  constructor(plan: Plan = {}) {
    for (const [name, steps] of Object.entries(plan)) this.plan(name, steps);
  }

  /** Replaces what the coming calls of a name do. */
  plan(name: string, steps: Step | readonly Step[]): void {
    this.#steps.delete(name);
    this.#always.delete(name);
    if ('kind' in steps) this.#always.set(name, steps);
    else this.#steps.set(name, [...steps]);
  }

  /** Writes the call down, then does what was planned for it, else `usual`. */
  async run<T>(name: string, params: unknown, usual: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const step = this.#steps.get(name)?.shift() ?? this.#always.get(name) ?? pass;
    const call: ControlledCall = { name, params, settled: false, ...(signal === undefined ? {} : { signal }) };
    this.#note(call);
    try {
      return await this.#do(step, usual, signal);
    } finally {
      call.settled = true;
    }
  }

  /** Writes a call down that is not steered. */
  note(name: string, params: unknown): void {
    this.#note({ name, params, settled: true });
  }

  #note(call: ControlledCall): void {
    this.calls.push(call);
    for (const check of this.#waiting) check();
  }

  async #do<T>(step: Step, usual: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    switch (step.kind) {
      case 'pass':
        return usual();
      case 'fail':
        throw step.error;
      case 'answer':
        // A port that answers garbage: what it says is not what it promised.
        return step.value as T;
      case 'hang':
        return new Promise<T>((_resolve, reject) => {
          if (step.deaf) return;
          signal?.addEventListener('abort', () => reject(new Error('given up')), { once: true });
        });
      case 'hold':
        return this.#do(await step.promise, usual, signal);
    }
  }

  names(): string[] {
    return this.calls.map((call) => call.name);
  }

  of(name: string): unknown[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.params);
  }

  /** Resolves with the parameters of the nth call of a name, made already or yet to come. */
  async called(name: string, nth = 1): Promise<unknown> {
    await this.until(() => this.of(name).length >= nth);
    return this.of(name)[nth - 1];
  }

  /** Resolves as soon as the condition holds after a call. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!holds()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }
}
