import { CLAUSES, type ClauseId } from './clauses.ts';

/** How a clause was broken, in words that an engine author can act on. */
export interface Finding {
  expected: string;
  found: string;
  /** What had happened, step by step, up to where it showed. */
  path: readonly string[];
}

/** What is known of one clause so far. */
export interface ClauseState {
  runs: number;
  broken: Finding | null;
  /** Why it was not looked at; only while `runs` is 0. */
  reason: string | null;
}

/** Collects verdicts. Of several findings of one clause the one with the fewest steps is kept, of equal ones the first. */
export class Verdicts {
  readonly #states = new Map<ClauseId, ClauseState>();
  readonly #changed: (id: ClauseId, state: ClauseState) => void;

  /** `changed` is told whenever a clause is looked at for the first time, broken, or explained. */
  constructor(changed: (id: ClauseId, state: ClauseState) => void = () => undefined) {
    this.#changed = changed;
  }

  /** The clause was looked at and held. */
  held(id: ClauseId): void {
    const state = this.of(id);
    this.#set(id, { ...state, runs: state.runs + 1, reason: null }, state.runs === 0);
  }

  /** The clause was looked at and is broken. */
  broken(id: ClauseId, finding: Finding): void {
    const state = this.of(id);
    const isShorter = state.broken === null || finding.path.length < state.broken.path.length;
    this.#set(id, { runs: state.runs + 1, broken: isShorter ? finding : state.broken, reason: null }, isShorter);
  }

  /** Held when `finding` is null. */
  judge(id: ClauseId, finding: Finding | null): void {
    if (finding === null) this.held(id);
    else this.broken(id, finding);
  }

  /** Says why a clause cannot be looked at. Counts only as long as it is never looked at. */
  notExercised(id: ClauseId, reason: string): void {
    const state = this.of(id);
    if (state.runs === 0) this.#set(id, { ...state, reason: state.reason ?? reason }, true);
  }

  isBroken(id: ClauseId): boolean {
    return this.of(id).broken !== null;
  }

  of(id: ClauseId): ClauseState {
    return this.#states.get(id) ?? { runs: 0, broken: null, reason: null };
  }

  entries(): [ClauseId, ClauseState][] {
    return CLAUSES.map(({ id }) => [id, this.of(id)]);
  }

  #set(id: ClauseId, state: ClauseState, isNews: boolean): void {
    this.#states.set(id, state);
    if (isNews) this.#changed(id, state);
  }
}
