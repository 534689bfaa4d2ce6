import type { CompactionInput, CompactionOutput } from '../../../machines/compaction.ts';
import type { TurnOutput } from '../../../machines/turn.ts';
import type { Run } from '../paths/walk.ts';
import { finalContext, finalState, type Invariant, invoked, stepsTaken } from './invariant.ts';

const outputOf = (run: Run): object => (run.snapshots.at(-1)?.output ?? {}) as object;
const firstStep = (run: Run, label: RegExp, state: RegExp) =>
  stepsTaken(run).find((step) => label.test(step.label) && state.test(step.state));
const count = (run: Run, ...actors: string[]) => invoked(run, ...actors).length;

/** Told by the first INTERRUPT that came while the turn could still be stopped. */
const whyOf = (run: Run) => firstStep(run, /^INTERRUPT/, /^(?:requesting|running)/)?.label.slice('INTERRUPT '.length);
/** Told by the first COMPLETED that came before the turn was over. */
const completedOf = (run: Run) => firstStep(run, /^COMPLETED/, /^(?:requesting|running|interrupting)/)?.label;

/** `key` is the name under which each actor is told what it works for. */
const toldWhom = (key: 'attemptId' | 'processId', what: string): Invariant => ({
  spec: 'C1',
  says: `each actor is told which ${what} it works for`,
  holds: (run) => {
    const own = finalContext(run) as Partial<Record<typeof key, string>>;
    return run.invocations.every(({ input }) => (input as typeof own)[key] === own[key]);
  },
});

function expectedOutcome(run: Run): TurnOutput['outcome'] {
  const [why, completed] = [whyOf(run), completedOf(run)];
  if (completed === 'COMPLETED completed') return why === 'yield' ? 'yielded' : 'completed';
  if (completed?.startsWith('COMPLETED failed')) return 'failed';
  if (why === 'abort') return 'aborted';
  return why === 'yield' ? 'yielded' : 'failed';
}

export const turnInvariants: readonly Invariant[] = [
  toldWhom('attemptId', 'attempt'),
  {
    spec: 'E3',
    says: 'the outcome follows from the first status and the first reason to stop',
    holds: (run) => (outputOf(run) as TurnOutput).outcome === expectedOutcome(run),
  },
  {
    spec: 'E3',
    says: 'a failed turn has a cause, and no other has one',
    holds: (run) => {
      const { outcome, cause } = outputOf(run) as TurnOutput;
      return (cause !== null) === (outcome === 'failed');
    },
  },
  {
    spec: 'K1',
    says: 'an overflow is reported exactly if it is the cause, and as replay-safe exactly if nothing had an effect',
    holds: (run) => {
      const { cause, overflow, replaySafe } = outputOf(run) as TurnOutput;
      const effects = stepsTaken(run).some(({ label }) => label === 'EFFECT');
      return overflow === (cause?.code === 'context_window_exceeded') && replaySafe === !effects;
    },
  },
  {
    spec: 'M4',
    says: 'turn/interrupt is sent once, when a stop is asked and turn/start has answered, and not otherwise',
    holds: (run) => {
      const answered = stepsTaken(run).findIndex(({ label }) => label === 'done request');
      const asked = stepsTaken(run).findIndex(
        ({ label, state }) => label.startsWith('INTERRUPT') && /^(?:requesting|running)/.test(state),
      );
      const due = answered !== -1 && asked !== -1;
      const [first, ...more] = invoked(run, 'interrupt');
      return due
        ? first !== undefined && more.length === 0 && first.step >= Math.max(answered, asked)
        : first === undefined;
    },
  },
  {
    spec: '2.9',
    says: 'what is still under way is taken in after the turn is over, unless the process is gone or silent',
    holds: (run) => {
      const over = firstStep(run, /^(?:COMPLETED|error request)/, /^(?:requesting|running|interrupting)/);
      return count(run, 'drain') === (over === undefined ? 0 : 1);
    },
  },
  {
    spec: '2.8',
    says: 'the turn is requested exactly once, and watched to its end',
    holds: (run) => count(run, 'request') === 1 && count(run, 'watch') === 1,
  },
];

const compactionInput = (run: Run) => run.path.input.input as CompactionInput;
const tookIn = (run: Run, label: RegExp, state: RegExp): boolean => firstStep(run, label, state) !== undefined;

/** What the primary compaction came to, as its own steps say. */
function expectedCompaction(run: Run): CompactionOutput['compaction'] {
  if (compactionInput(run).ownsCompaction) {
    if (tookIn(run, /^done compactEngine: compacted$/, /^engine-compacting$/)) return 'engine';
    return tookIn(run, /^done compactEngine: unchanged$/, /^engine-compacting$/) ? 'nothing' : 'failed';
  }
  const isDone =
    tookIn(run, /^done awaitNative$/, /^native-running$/) ||
    tookIn(run, /^done interruptNative: too late$/, /^interrupting$/);
  return isDone ? 'native' : 'failed';
}

export const compactionInvariants: readonly Invariant[] = [
  toldWhom('attemptId', 'attempt'),
  {
    spec: 'K1',
    says: 'an owning engine compacts first, once; one that does not own it never does',
    holds: (run) => {
      const { ownsCompaction } = compactionInput(run);
      const first = run.invocations.find(({ actor }) => actor !== 'watchNative');
      return (
        count(run, 'compactEngine') === (ownsCompaction ? 1 : 0) &&
        (!ownsCompaction || first?.actor === 'compactEngine')
      );
    },
  },
  {
    spec: 'K1',
    says: "the result is the engine's when it owns compaction, whatever became of the native one",
    holds: (run) => (outputOf(run) as CompactionOutput).compaction === expectedCompaction(run),
  },
  {
    spec: 'K1',
    says: 'native compaction is asked for, also after an engine that failed or hung, exactly if it is wanted and nobody stopped before',
    holds: (run) => {
      const stopped = tookIn(run, /^INTERRUPT$/, /^engine-/);
      return count(run, 'requestNative') === (compactionInput(run).nativeWanted && !stopped ? 1 : 0);
    },
  },
  {
    spec: 'K1',
    says: 'the engine maintains itself once after a compaction of its own, if it can, and never else',
    holds: (run) => {
      const due = compactionInput(run).maintains && expectedCompaction(run) === 'engine';
      return count(run, 'maintainEngine') === (due ? 1 : 0);
    },
  },
  {
    spec: 'E1',
    says: 'maintenance that fails or hangs leaves a note, and nothing else does',
    holds: (run) => {
      const failed = tookIn(run, /^(?:error maintainEngine|after maintainBudget)$/, /^engine-maintaining$/);
      const { degraded = [] } = outputOf(run) as Partial<CompactionOutput>;
      return degraded.length === (failed ? 1 : 0);
    },
  },
  {
    spec: 'K5',
    says: 'a native compaction that is to stop, or ran out of time, is interrupted once',
    holds: (run) => {
      const due =
        tookIn(run, /^INTERRUPT$/, /^native-(?:requested|running)$/) ||
        tookIn(run, /^after compactBudget$/, /^native-running$/);
      return count(run, 'interruptNative') === (due ? 1 : 0);
    },
  },
  {
    spec: 'G3',
    says: 'the native thread is watched from beginning to end, so that nothing runs on it afterwards',
    holds: (run) => count(run, 'watchNative') === (run.path.steps.length === 0 ? 0 : 1),
  },
  {
    spec: 'E3',
    says: 'a failed compaction has a cause, and no other has one',
    holds: (run) => {
      const { compaction, cause } = outputOf(run) as CompactionOutput;
      return (cause !== null) === (compaction === 'failed');
    },
  },
];

export const appServerInvariants: readonly Invariant[] = [
  toldWhom('processId', 'process'),
  {
    spec: 'G3',
    says: 'the process is asked to leave more firmly each time: close, TERM, KILL, no rung twice',
    holds: (run) => {
      const rungs = invoked(run, 'endInput', 'terminate', 'kill').map(({ actor }) => actor);
      return ['', 'endInput', 'endInput,terminate', 'endInput,terminate,kill', 'endInput,kill', 'kill'].includes(
        rungs.join(),
      );
    },
  },
  {
    spec: 'G3',
    says: 'a process that does not end by itself is killed',
    holds: (run) => stepsTaken(run).some(({ label }) => label === 'EXITED') || count(run, 'kill') === 1,
  },
  {
    spec: 'G3',
    says: 'a process that is retired is killed at once',
    holds: (run) => {
      const retired = stepsTaken(run).findIndex(({ label }) => label === 'RETIRE');
      return retired === -1 || invoked(run, 'kill').some(({ step }) => step <= retired);
    },
  },
  {
    spec: 'E3',
    says: 'it crashed exactly if it ended before anybody asked it to leave',
    holds: (run) => {
      const last = stepsTaken(run).at(-1);
      const unasked = last?.label === 'EXITED' && ['starting', 'ready'].includes(last.state);
      return finalState(run) === (unasked ? 'crashed' : 'stopped');
    },
  },
  {
    spec: 'E3',
    says: 'a start that went wrong, and an exit nobody asked for, leave a fault, and nothing else does',
    holds: (run) => {
      const wrong =
        firstStep(run, /^(?:error handshake|after startBudget|EXITED)$/, /^(?:starting|ready)$/) !== undefined;
      return ((outputOf(run) as { fault: object | null }).fault !== null) === wrong;
    },
  },
  {
    spec: '2.7',
    says: 'there is one process and one handshake, and no way back to ready',
    holds: (run) =>
      count(run, 'process') === 1 &&
      count(run, 'handshake') === 1 &&
      stepsTaken(run).every(({ state, next }) => !state.startsWith('draining') || next !== 'ready'),
  },
];
