import { AttemptError } from '../errors.ts';
import type { TranscriptRow } from '../ports.ts';
import { hookContextOf } from './hook-calls.ts';
import { type AttemptRecord, bounded, degrade } from './record.ts';

const HOOK = 'before_message_write';

/** Milliseconds for the hooks of one write: what they get, but never the whole of the state that writes. */
export function writeHooksBudget({ params: { budgets } }: AttemptRecord): number {
  return Math.min(budgets.hooks, budgets.mirror / 2);
}

/**
 * What `before_message_write` hooks make of rows that are about to be written, in order and one for each: the row as it
 * shall be written, or null when they block it. Keys stay.
 *
 * Bounded by `ms` for all rows together, and by half of the mirror's grace once an abort is asked. A hook that throws or
 * answers wrongly, and hooks that hang, are written down as degradations; the rows that they cost are written as they
 * are. Never rejects.
 */
export async function passWriteHooks(
  record: AttemptRecord,
  state: string,
  rows: readonly TranscriptRow[],
  signal: AbortSignal,
  ms: number,
): Promise<(TranscriptRow | null)[]> {
  const { hooks, clock, trace } = record.services;
  if (rows.length === 0 || !hooks.has(HOOK)) return [...rows];
  const from = clock.now();
  const limit = new WriteLimit(record, ms);
  const both = AbortSignal.any([signal, limit.signal]);
  const passed: (TranscriptRow | null)[] = [];
  let ok = true;
  const wentWrong = (code: string, error: unknown): void => {
    ok = false;
    degrade(record, state, code, error);
  };
  for (const row of rows) {
    if (both.aborted) break;
    try {
      passed.push(await askHooks(record, row, both, (message) => wentWrong('hook_failed', message)));
    } catch (error) {
      // Of the time that is over it is told once, below.
      if (both.aborted) break;
      wentWrong('hook_failed', error);
      passed.push(row);
    }
  }
  limit.end();
  const left = rows.slice(passed.length);
  if (left.length > 0 && !signal.aborted) {
    const said = `the ${HOOK} hooks took longer than ${clock.now() - from} ms: ${left.length} row(s) are written as they are`;
    wentWrong('budget_hooks', new AttemptError('budget_hooks', said));
  }
  trace.emit({ type: 'hook.call', hook: HOOK, durationMs: clock.now() - from, ok: ok && left.length === 0 });
  return [...passed, ...left];
}

async function askHooks(
  record: AttemptRecord,
  row: TranscriptRow,
  signal: AbortSignal,
  onFailure: (message: string) => void,
): Promise<TranscriptRow | null> {
  const { hooks, clock } = record.services;
  const { idempotencyKey, message } = row;
  const { value, failures } = await bounded(hooks.beforeMessageWrite({ message }, hookContextOf(record), signal), {
    clock,
    ms: Number.POSITIVE_INFINITY,
    signal,
    error: () => new AttemptError('internal', 'a wait without a limit ran out'),
  });
  for (const failure of failures) onFailure(`hook ${failure.name} failed: ${failure.message}`);
  if (value === null) return null;
  if (value.role !== message.role) throw new AttemptError('hook_failed', `the ${HOOK} hooks changed the role of a row`);
  return value === message ? row : { idempotencyKey, message: { ...value, idempotencyKey }, original: message };
}

/** The time that hooks get. It shrinks when an abort is asked: rows must be written within the grace. */
class WriteLimit {
  readonly #clock: AttemptRecord['services']['clock'];
  readonly #stop = new AbortController();
  readonly #timers: unknown[] = [];
  readonly #hurry: AbortSignal;
  readonly #onHurry: () => void;

  constructor({ services, params, hurry }: AttemptRecord, ms: number) {
    this.#clock = services.clock;
    this.#hurry = hurry;
    this.#onHurry = () => this.#stopAfter(params.budgets.graceMirror / 2);
    this.#stopAfter(ms);
    hurry.addEventListener('abort', this.#onHurry, { once: true });
    if (hurry.aborted) this.#onHurry();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  end(): void {
    for (const timer of this.#timers) this.#clock.clearTimeout(timer);
    this.#hurry.removeEventListener('abort', this.#onHurry);
  }

  #stopAfter(ms: number): void {
    this.#timers.push(this.#clock.setTimeout(() => this.#stop.abort(), ms));
  }
}
