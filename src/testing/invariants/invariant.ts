import type { Invocation } from '../paths/delegating.ts';
import { actorOf } from '../paths/generate.ts';
import type { PathStep } from '../paths/suite.ts';
import { stateId } from '../paths/suite.ts';
import type { Run } from '../paths/walk.ts';

/** A sentence of the specification that must hold on every path. Written by hand, without a look at the machines. */
export interface Invariant {
  spec: string;
  says: string;
  /** Whether it holds on this run. */
  holds(run: Run): boolean;
}

/** The invariants that a run breaks, as `spec: sentence`. */
export const violations = (invariants: readonly Invariant[], run: Run): string[] =>
  invariants.filter((invariant) => !invariant.holds(run)).map(({ spec, says }) => `${spec}: ${says}`);

/** The state in which a run ended. */
export const finalState = (run: Run): string => stateId(run.snapshots.at(-1)?.value ?? '');

/** The context in which a run ended. */
export const finalContext = (run: Run): object => (run.snapshots.at(-1)?.context ?? {}) as object;

/** The invocations of these actors, in order. */
export const invoked = (run: Run, ...actors: string[]): Invocation[] =>
  run.invocations.filter(({ actor }) => actors.includes(actor));

/** The steps that were really taken. */
export const stepsTaken = (run: Run): readonly PathStep[] => run.path.steps.slice(0, run.snapshots.length - 1);

/** Top-level states, one entry per visit. */
export function visits(run: Run): string[] {
  const tops = run.snapshots.map((snapshot) => stateId(snapshot.value).split('.')[0] ?? '');
  return tops.filter((top, index) => top !== tops[index - 1]);
}

/** The results with which this actor ended, `undefined` for an error. */
export function results(run: Run, actor: string): unknown[] {
  return stepsTaken(run)
    .filter(({ event }) => actorOf(event.type) === actor)
    .map(({ event }) => ('output' in event ? event.output : undefined));
}

/** What holds for every machine. */
export const commonInvariants: readonly Invariant[] = [
  {
    spec: 'C1',
    says: 'every path ends in a final state',
    holds: (run) => run.snapshots.at(-1)?.status === 'done',
  },
  {
    spec: 'E3',
    says: 'at the end nothing runs whose signal is not aborted',
    holds: (run) => run.live.length === 0 && run.invocations.every(({ ended, stopped }) => ended !== null || stopped),
  },
];
