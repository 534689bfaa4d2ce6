import type { AttemptContext, AttemptInput, OpenOutput } from '../../../machines/attempt-types.ts';
import type { CompactionInput } from '../../../machines/compaction.ts';
import type { Run } from '../paths/walk.ts';
import { finalContext, type Invariant, invoked, results, stepsTaken } from './invariant.ts';

const contextOf = (run: Run) => finalContext(run) as AttemptContext;

/** Where an attempt may be at rest once ABORT came: a short grace bounds each, or it is over. */
const HURRIED =
  /^(?:turning\.interrupting|compacting\.interrupting|mirroring\.hurried|finalizing\.hurried|completed|yielded|aborted|failed)$/;

/** What an attempt reads first, what it hands to its parts, and what it reports. */
export const attemptDataInvariants: readonly Invariant[] = [
  {
    spec: '2.1',
    says: 'the session is opened, an open journal is closed, the outbox is drained, the transcript is read: once, in this order',
    holds: (run) => {
      const began = invoked(run, 'open', 'recover', 'drainOutbox', 'read').map(({ actor }) => actor);
      const journal = (results(run, 'open')[0] as OpenOutput | undefined)?.journalOpen === true;
      const order = ['open', ...(journal ? ['recover'] : []), 'drainOutbox', 'read'];
      const due = run.invocations.length > began.length ? order : order.slice(0, Math.max(began.length, 1));
      return began.join() === due.join();
    },
  },
  {
    spec: 'M4',
    says: 'once ABORT came, nothing is waited for without a short grace',
    holds: (run) => {
      const aborted = stepsTaken(run).findIndex(({ label }) => label === 'ABORT');
      return aborted === -1 || stepsTaken(run).every(({ next }, index) => index < aborted || HURRIED.test(next));
    },
  },
  {
    spec: '2.8',
    says: 'the native turn is given the budgets of the attempt',
    holds: (run) => {
      const { request, drain } = contextOf(run).budgets;
      return invoked(run, 'turn').every(({ input }) => {
        const { budgets } = input as Partial<Pick<AttemptInput, 'budgets'>>;
        return budgets?.request === request && budgets.drain === drain;
      });
    },
  },
  {
    spec: 'K1',
    says: 'the compaction is given the budgets of the attempt',
    holds: (run) => {
      const own: Readonly<Record<string, number>> = { ...contextOf(run).budgets };
      return invoked(run, 'compaction').every(({ input }) => {
        const given = Object.entries((input as Partial<CompactionInput>).budgets ?? {});
        return given.length === 4 && given.every(([name, ms]) => ms === own[name]);
      });
    },
  },
  {
    spec: 'E3',
    says: 'the result says what became of the attempt: outcome, cause, compaction, finalization, maintenance, what went wrong',
    holds: (run) => {
      const { outcome, cause, compaction, finalization, maintenance, degraded } = contextOf(run);
      const known = { outcome, cause, compaction, finalization, maintenance, degraded };
      return JSON.stringify(run.snapshots.at(-1)?.output) === JSON.stringify(known);
    },
  },
];
