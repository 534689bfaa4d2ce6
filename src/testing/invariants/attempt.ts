import type { AttemptContext, AttemptInput, FinalizeOutput, OpenOutput } from '../../../machines/attempt-types.ts';
import type { CompactionInput, CompactionOutput } from '../../../machines/compaction.ts';
import type { TurnOutput } from '../../../machines/turn.ts';
import type { Run } from '../paths/walk.ts';
import { attemptDataInvariants } from './attempt-data.ts';
import { finalContext, finalState, type Invariant, invoked, results, stepsTaken, visits } from './invariant.ts';

const FINALS = ['completed', 'yielded', 'aborted', 'failed'];

/** Which top-level state may follow which (spec 2; the ways back are the two retries). */
const MAY_FOLLOW: Readonly<Record<string, readonly string[]>> = {
  bootstrap: ['assembling', 'compacting', 'aborted', 'failed'],
  assembling: ['projecting', 'mirroring', 'aborted', 'failed'],
  projecting: ['hook-build', 'mirroring', 'aborted'],
  'hook-build': ['thread-start', 'mirroring', 'aborted'],
  'thread-start': ['turning', 'projecting', 'mirroring', 'aborted', 'failed'],
  turning: ['mirroring', 'compacting'],
  compacting: ['assembling', 'mirroring', 'completed', 'aborted', 'failed'],
  mirroring: ['finalizing'],
  finalizing: ['maintaining', ...FINALS],
  maintaining: ['completed'],
};

const ONE_ROUND =
  /^assemble (?:project buildPrompt connect resumeThread )?project buildPrompt connect (?:resumeThread|startThread) turn $/;

/** Steps that go wrong without costing the turn (spec E1), by label, with the states where they count. */
const DEGRADES: readonly { label: RegExp; state?: RegExp }[] = [
  {
    label:
      /^error (?:recover|drainOutbox|bootstrapEngine|bootstrapMaintenance|reread|project|buildPrompt|mirror|finalize|maintain)$/,
  },
  { label: /^error assemble: engine$/ },
  { label: /^done finalize: not ok$/ },
  { label: /^after storeBudget$/, state: /^bootstrap\.(?:recovering|rereading)$/ },
  {
    label:
      /^after (?:bootstrapBudget|assembleBudget|hooksBudget|mirrorBudget|graceMirror|finalizeBudget|graceFinalize|maintainBudget)$/,
  },
];

const inputOf = (run: Run) => run.path.input.input as AttemptInput;
const contextOf = (run: Run) => finalContext(run) as AttemptContext;
const opened = (run: Run) => results(run, 'open')[0] as OpenOutput | undefined;
const turnEnd = (run: Run) => results(run, 'turn').at(-1) as TurnOutput | undefined;
const abortStep = (run: Run) => stepsTaken(run).findIndex(({ label }) => label === 'ABORT');

/** The engine is not used in an attempt whose queue could not be drained (spec D3). */
function engineOf(run: Run): AttemptInput['engine'] {
  const undrained = stepsTaken(run).some(
    ({ state, label }) =>
      state === 'bootstrap.draining' && ['error drainOutbox', 'after bootstrapBudget'].includes(label),
  );
  return undrained ? null : inputOf(run).engine;
}

/** What the step that ended the last turn says the attempt must end as; null: no turn, or it was to be retried. */
function expectedOutcome(run: Run): string | null {
  const steps = stepsTaken(run);
  const end = steps.findLastIndex(({ state, next }) => state.startsWith('turning.') && !next.startsWith('turning.'));
  const step = steps[end];
  if (step === undefined || step.next.startsWith('compacting.')) return null;
  if (step.label.startsWith('done turn')) return turnEnd(run)?.outcome ?? null;
  if (step.label === 'error turn') return 'failed';
  return steps.findLast(({ state, next }) => state === 'turning.running' && next === 'turning.interrupting')?.label ===
    'ABORT'
    ? 'aborted'
    : 'failed';
}

/** What a child must have been told: of the step that asked it to stop, if there was one. A compaction has one reason. */
function expectedTold(run: Run, actor: 'turn' | 'compaction', from: number): object[] {
  const working = actor === 'turn' ? 'turning.running' : 'compacting.working';
  for (const { state, label } of stepsTaken(run).slice(from + 1)) {
    if (state !== working) return [];
    if (label === 'ABORT') return [{ type: 'INTERRUPT', ...(actor === 'turn' ? { why: 'abort' } : {}) }];
    if (label === 'after executionBudget') return [{ type: 'INTERRUPT', why: 'deadline' }];
  }
  return [];
}

/**
 * Degraded steps that a path must leave: those of the list, and what a compaction for a turn failed of. A compaction
 * that was told to stop fails of that.
 */
function expectedDegradations(run: Run): number {
  const forTurn = inputOf(run).request === 'turn';
  return stepsTaken(run).filter(
    ({ state, label }) =>
      DEGRADES.some((one) => one.label.test(label) && (one.state?.test(state) ?? true)) ||
      (forTurn && label === 'error compaction') ||
      (forTurn && label === 'done compaction: failed' && state === 'compacting.working'),
  ).length;
}

export const attemptInvariants: readonly Invariant[] = [
  {
    spec: 'C1',
    says: 'the ten states come in their order',
    holds: (run) => {
      const seen = visits(run);
      return (
        seen[0] === 'bootstrap' && seen.every((top, at) => at === 0 || MAY_FOLLOW[seen[at - 1] ?? '']?.includes(top))
      );
    },
  },
  {
    spec: '2.2',
    says: 'the engine bootstraps once, and exactly if a session file existed and it offers that',
    holds: (run) => {
      const readWell = results(run, 'read').length === 1 && stepsTaken(run).some(({ label }) => label === 'done read');
      const due = readWell && opened(run)?.hadSessionFile === true && engineOf(run)?.bootstrap === true;
      return invoked(run, 'bootstrapEngine').length === (due ? 1 : 0);
    },
  },
  {
    spec: '2.3',
    says: 'bootstrap maintenance runs exactly if a file existed, the engine maintains and its bootstrap did not fail',
    holds: (run) => {
      const steps = stepsTaken(run).map(({ state, label }) => `${state}: ${label}`);
      const reached = steps.includes('bootstrap.reading: done read');
      const bootstraps = engineOf(run)?.bootstrap === true;
      const bootstrapped = !bootstraps || steps.includes('bootstrap.engine: done bootstrapEngine');
      const due = reached && bootstrapped && opened(run)?.hadSessionFile === true && engineOf(run)?.maintain === true;
      return invoked(run, 'bootstrapMaintenance').length === (due ? 1 : 0);
    },
  },
  {
    spec: '2.3',
    says: 'after an engine worked at bootstrap the transcript is read again before anything else',
    holds: (run) => {
      const names = run.invocations.map(({ actor }) => actor);
      const last = names.findLastIndex((name) => name === 'bootstrapEngine' || name === 'bootstrapMaintenance');
      return last === -1 || names[last + 1] === undefined || names[last + 1] === 'reread';
    },
  },
  {
    spec: '2.4-2.8',
    says: 'before every native turn: assemble, project, hooks, thread, and only then the turn',
    holds: (run) => {
      const order = ['assemble', 'project', 'buildPrompt', 'connect', 'resumeThread', 'startThread', 'turn'];
      const rounds = invoked(run, ...order)
        .map(({ actor }) => actor)
        .join(' ')
        .split(/(?<=\bturn) ?/)
        .filter((round) => round.endsWith('turn'));
      return rounds.length === invoked(run, 'turn').length && rounds.every((round) => ONE_ROUND.test(`${round} `));
    },
  },
  {
    spec: 'M1',
    says: 'after a turn ran there is exactly one mirror, then exactly one finalizer; without a turn neither',
    holds: (run) => {
      const order = invoked(run, 'turn', 'mirror', 'finalize').map(({ actor }) => actor);
      const turns = invoked(run, 'turn').length;
      const expected = turns === 0 ? [] : [...Array<string>(turns).fill('turn'), 'mirror', 'finalize'];
      return order.join() === expected.join();
    },
  },
  {
    spec: '2.11',
    says: 'turn maintenance runs exactly if completed, not aborted, not yielded, finalized, and the engine maintains',
    holds: (run) => {
      const maintained = invoked(run, 'maintain');
      const finalized = (results(run, 'finalize')[0] as FinalizeOutput | undefined)?.ok === true;
      const aborted = abortStep(run);
      const abortedBefore = aborted !== -1 && (maintained[0] === undefined || aborted < maintained[0].step);
      const due =
        expectedOutcome(run) === 'completed' && finalized && !abortedBefore && engineOf(run)?.maintain === true;
      return maintained.length === (due ? 1 : 0);
    },
  },
  {
    spec: 'M4',
    says: 'after ABORT nothing begins but mirroring and finalizing',
    holds: (run) => {
      const aborted = abortStep(run);
      const begun = aborted === -1 ? [] : run.invocations.filter(({ step }) => step >= aborted);
      return begun.every(({ actor }) => actor === 'mirror' || actor === 'finalize');
    },
  },
  {
    spec: 'K4',
    says: 'only an engine that really compacted, after an overflow that may be replayed, leads to a second prompt',
    holds: (run) => {
      const [first, second, ...more] = invoked(run, 'assemble');
      if (first === undefined || second === undefined) return true;
      const overflow = results(run, 'turn')[0] as TurnOutput | undefined;
      const compaction = results(run, 'compaction')[0] as CompactionOutput | undefined;
      return (
        more.length === 0 &&
        overflow?.overflow === true &&
        overflow.replaySafe &&
        compaction?.compaction === 'engine' &&
        engineOf(run)?.ownsCompaction === true
      );
    },
  },
  {
    spec: 'K1',
    says: 'an overflow that may be replayed, with an owning engine and no stop asked, is compacted once',
    holds: (run) => {
      if (inputOf(run).request === 'compact') return invoked(run, 'compaction').length <= 1;
      const due = stepsTaken(run).filter(
        ({ state, label }) => state === 'turning.running' && label === 'done turn: overflow',
      );
      const expected = engineOf(run)?.ownsCompaction === true ? Math.min(due.length, 1) : 0;
      return invoked(run, 'compaction').length === expected;
    },
  },
  {
    spec: 'K1',
    says: 'the compaction knows who owns it; the native thread is compacted only when asked for, not after an overflow',
    holds: (run) =>
      invoked(run, 'compaction').every(({ input }) => {
        const { ownsCompaction, maintains, nativeWanted } = input as CompactionInput;
        return (
          ownsCompaction === (engineOf(run)?.ownsCompaction === true) &&
          maintains === (engineOf(run)?.maintain === true) &&
          nativeWanted === (inputOf(run).request === 'compact')
        );
      }),
  },
  {
    spec: 'T1',
    says: 'a stale thread is replaced at most once, and after any retry the thread is a fresh one',
    holds: (run) => {
      const retried = stepsTaken(run).findIndex(
        ({ label, next }) =>
          (label === 'error resumeThread: stale' && next === 'projecting') ||
          (label.includes('compaction') && next === 'assembling'),
      );
      const later = retried === -1 ? [] : invoked(run, 'resumeThread').filter(({ step }) => step > retried);
      return later.length === 0 && invoked(run, 'resumeThread').length <= 1 && invoked(run, 'startThread').length <= 2;
    },
  },
  {
    spec: 'T1',
    says: 'without a retry the thread is resumed or started as projecting decided',
    holds: (run) => {
      const decided = results(run, 'project')[0] as { thread: string } | undefined;
      const first = invoked(run, 'resumeThread', 'startThread')[0];
      const thread = decided?.thread ?? (opened(run)?.bound === true ? 'resume' : 'start');
      return first === undefined || first.actor === (thread === 'resume' ? 'resumeThread' : 'startThread');
    },
  },
  {
    spec: 'E3',
    says: 'the attempt ends as its native turn did',
    holds: (run) => {
      const expected = expectedOutcome(run);
      return expected === null || finalState(run) === expected;
    },
  },
  {
    spec: 'E3',
    says: 'the outcome never changes once it is known, and is the final state',
    holds: (run) => {
      const known = run.snapshots
        .map(({ context }) => (context as AttemptContext).outcome)
        .filter((one) => one !== null);
      return new Set(known).size === 1 && known[0] === finalState(run);
    },
  },
  {
    spec: 'E3',
    says: 'a failed attempt has a cause, and no other has one',
    holds: (run) => (contextOf(run).cause !== null) === (finalState(run) === 'failed'),
  },
  {
    spec: 'M4',
    says: 'a child is told to stop exactly when ABORT or the deadline of a turn came while it worked, with that reason, once',
    holds: (run) =>
      (['turn', 'compaction'] as const).every((actor) =>
        invoked(run, actor).every(
          ({ told, step }) =>
            JSON.stringify(told.map(({ event }) => event)) === JSON.stringify(expectedTold(run, actor, step)),
        ),
      ) && run.invocations.every(({ actor, told }) => told.length === 0 || ['turn', 'compaction'].includes(actor)),
  },
  {
    spec: 'E1',
    says: 'every step that goes wrong without costing the turn is recorded, and nothing else is',
    holds: (run) => contextOf(run).degraded.length === expectedDegradations(run),
  },
  {
    spec: 'D3',
    says: 'an engine whose queue could not be drained is not used in this attempt',
    holds: (run) =>
      engineOf(run) !== null || invoked(run, 'bootstrapEngine', 'bootstrapMaintenance', 'maintain').length === 0,
  },
  {
    spec: '2.11',
    says: 'whether turn maintenance ran, or why not, is known of every finalized turn',
    holds: (run) => {
      const { maintenance } = contextOf(run);
      const finalized = invoked(run, 'finalize').length === 1;
      const ran = stepsTaken(run).some(({ label }) => label.startsWith('done maintain'));
      return finalized ? maintenance !== null && maintenance.ran === ran : maintenance === null;
    },
  },
  {
    spec: 'K1',
    says: 'a request to compact ends completed exactly if its compaction did not fail, and never runs a turn',
    holds: (run) => {
      if (inputOf(run).request === 'turn') return true;
      const result = results(run, 'compaction')[0] as CompactionOutput | undefined;
      const succeeded = result !== undefined && result.compaction !== 'failed';
      return (finalState(run) === 'completed') === succeeded && invoked(run, 'assemble', 'turn').length === 0;
    },
  },
  {
    spec: 'E3',
    says: 'an attempt that ABORT ended before its turn is aborted at once',
    holds: (run) =>
      stepsTaken(run).every(({ label, state, next }) => {
        const before = /^(?:bootstrap|assembling|projecting|hook-build|thread-start)\b/.test(state);
        if (label !== 'ABORT' || !before) return true;
        return invoked(run, 'turn').length === 0 ? next === 'aborted' : finalState(run) === 'aborted';
      }),
  },
  {
    spec: 'C1',
    says: 'each actor is told which attempt it works for',
    holds: (run) =>
      run.invocations.every(({ input }) => (input as { attemptId?: string }).attemptId === contextOf(run).attemptId),
  },
  ...attemptDataInvariants,
];
