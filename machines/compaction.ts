import { assign, fromCallback, fromPromise, setup } from 'xstate';
import { faultOf, type TurnFault } from './turn.ts';

/**
 * Two compactions that are never confused: the engine's, which is the session's, and the native one, which only keeps
 * the bound thread healthy (spec 8).
 *
 * It ends by itself in every case: each state has a budget of its own, so an engine that hangs is a failed engine, after
 * which the native compaction still runs (spec K1). The parent can tell it to stop.
 */

/** Milliseconds. */
export interface CompactionBudgets {
  /** For the engine's `compact`, and again for a native compaction that has begun. */
  compact: number;
  /** For the engine's maintenance after its `compact`. */
  maintain: number;
  /** For an app-server, the resumed thread and the answer to `thread/compact/start`. */
  threadStart: number;
  /** For the end of a native compaction that was told to stop. */
  graceInterrupt: number;
}

export interface CompactionInput {
  attemptId: string;
  /** The engine's `compact` is primary (spec K1); otherwise only the native one runs (spec K2). */
  ownsCompaction: boolean;
  /** The engine maintains itself after a compaction of its own. */
  maintains: boolean;
  /** After an overflow the thread is replaced, so it is not compacted natively. */
  nativeWanted: boolean;
  budgets: CompactionBudgets;
}

export interface CompactionContext extends CompactionInput {
  engine: 'compacted' | 'unchanged' | 'failed' | null;
  native: 'compacted' | 'failed' | null;
  /** Why the first that failed did. */
  fault: TurnFault | null;
  /** What went wrong beside the primary one. */
  degraded: TurnFault[];
}

/** `engine`, `native`: what really compacted; `nothing`: the engine had nothing to do; `failed`: the primary one failed. */
export interface CompactionOutput {
  compaction: 'engine' | 'native' | 'nothing' | 'failed';
  cause: TurnFault | null;
  degraded: readonly TurnFault[];
}

/** What a compaction answers: whether anything was made smaller. */
export interface CompactionAnswer {
  compacted: boolean;
}

export type CompactionEvent =
  | { type: 'INTERRUPT' }
  | { type: 'xstate.done.actor.compactEngine'; output: CompactionAnswer }
  | { type: 'xstate.error.actor.compactEngine'; error: unknown }
  | { type: 'xstate.done.actor.maintainEngine'; output: unknown }
  | { type: 'xstate.error.actor.maintainEngine'; error: unknown }
  | { type: 'xstate.done.actor.requestNative'; output: unknown }
  | { type: 'xstate.error.actor.requestNative'; error: unknown }
  | { type: 'xstate.done.actor.awaitNative'; output: unknown }
  | { type: 'xstate.error.actor.awaitNative'; error: unknown }
  | { type: 'xstate.done.actor.interruptNative'; output: CompactionAnswer }
  | { type: 'xstate.error.actor.interruptNative'; error: unknown };

export interface CompactionActorInput {
  attemptId: string;
}

/** What the two came to. Total. */
export function compactionOutput(context: CompactionContext): CompactionOutput {
  const { degraded } = context;
  const end = (compaction: CompactionOutput['compaction']): CompactionOutput => ({ compaction, cause: null, degraded });
  const failed = (message: string): CompactionOutput => ({
    compaction: 'failed',
    cause: context.fault ?? { code: 'compaction_failed', message },
    degraded,
  });
  if (context.ownsCompaction) {
    if (context.engine === 'compacted') return end('engine');
    if (context.engine === 'unchanged') return end('nothing');
    return failed('the engine did not compact');
  }
  if (context.native === 'compacted') return end('native');
  return failed('the native compaction did not finish');
}

const outOfTime = (name: keyof CompactionBudgets, context: CompactionContext): TurnFault => ({
  code: `budget_${name}`,
  message: `the ${name} budget of ${context.budgets[name]} ms ran out (budgets.${name})`,
});

const who = ({ context }: { context: CompactionContext }): CompactionActorInput => ({ attemptId: context.attemptId });

const unprovided = async (): Promise<never> => {
  throw new Error('this actor was not provided');
};

export const compactionMachine = setup({
  types: {
    context: {} as CompactionContext,
    input: {} as CompactionInput,
    events: {} as CompactionEvent,
    output: {} as CompactionOutput,
    meta: {} as { spec: string[] },
  },
  actors: {
    watchNative: fromCallback<CompactionEvent, CompactionActorInput>(() => {}),
    compactEngine: fromPromise<CompactionAnswer, CompactionActorInput>(unprovided),
    maintainEngine: fromPromise<unknown, CompactionActorInput>(unprovided),
    requestNative: fromPromise<unknown, CompactionActorInput>(unprovided),
    awaitNative: fromPromise<unknown, CompactionActorInput>(unprovided),
    interruptNative: fromPromise<CompactionAnswer, CompactionActorInput>(unprovided),
  },
  guards: {
    engineOwnsCompaction: ({ context }) => context.ownsCompaction,
    engineMaintains: ({ context, event }) =>
      event.type === 'xstate.done.actor.compactEngine' && event.output.compacted && context.maintains,
    nativeWanted: ({ context }) => context.nativeWanted,
  },
  actions: {
    rememberEngine: assign({
      engine: ({ context, event }) => {
        if (event.type !== 'xstate.done.actor.compactEngine') return context.engine;
        return event.output.compacted ? 'compacted' : 'unchanged';
      },
    }),
    rememberEngineFailure: assign({
      engine: 'failed',
      fault: ({ context, event }) =>
        event.type === 'xstate.error.actor.compactEngine' ? faultOf(event.error, 'compaction_failed') : context.fault,
    }),
    engineTimedOut: assign({ engine: 'failed', fault: ({ context }) => outOfTime('compact', context) }),
    degradeMaintenance: assign({
      degraded: ({ context, event }) =>
        event.type === 'xstate.error.actor.maintainEngine'
          ? [...context.degraded, faultOf(event.error, 'maintain_failed')]
          : context.degraded,
    }),
    maintenanceTimedOut: assign({
      degraded: ({ context }) => [...context.degraded, outOfTime('maintain', context)],
    }),
    rememberNative: assign({ native: 'compacted' }),
    rememberNativeFailure: assign({
      native: 'failed',
      fault: ({ context, event }) =>
        event.type === 'xstate.error.actor.requestNative' || event.type === 'xstate.error.actor.awaitNative'
          ? (context.fault ?? faultOf(event.error, 'compaction_failed'))
          : context.fault,
    }),
    nativeUnanswered: assign({
      native: 'failed',
      fault: ({ context }) => context.fault ?? outOfTime('threadStart', context),
    }),
    nativeTimedOut: assign({ fault: ({ context }) => context.fault ?? outOfTime('compact', context) }),
    // It may have been over already when it was told to stop.
    rememberInterrupted: assign({
      native: ({ context, event }) => {
        if (event.type !== 'xstate.done.actor.interruptNative') return context.native;
        return event.output.compacted ? 'compacted' : 'failed';
      },
    }),
    nativeUninterrupted: assign({ native: 'failed' }),
  },
  delays: {
    compactBudget: ({ context }) => context.budgets.compact,
    maintainBudget: ({ context }) => context.budgets.maintain,
    threadStartBudget: ({ context }) => context.budgets.threadStart,
    graceInterrupt: ({ context }) => context.budgets.graceInterrupt,
  },
}).createMachine({
  id: 'compaction',
  description: 'One compaction: the engine first, the native thread second.',
  context: ({ input }) => ({ ...input, engine: null, native: null, fault: null, degraded: [] }),
  // Ends what may still run on the native thread when the machine ends.
  invoke: { id: 'watchNative', src: 'watchNative', input: who },
  initial: 'deciding',
  states: {
    deciding: {
      description: 'Who owns compaction?',
      meta: { spec: ['K1', 'K2'] },
      always: [
        { guard: 'engineOwnsCompaction', target: 'engine-compacting' },
        { guard: 'nativeWanted', target: 'native-requested' },
        { target: 'settled' },
      ],
    },
    'engine-compacting': {
      description: "The engine's compact() runs; its result is the primary one.",
      meta: { spec: ['K1'] },
      invoke: {
        id: 'compactEngine',
        src: 'compactEngine',
        input: who,
        onDone: [
          { guard: 'engineMaintains', target: 'engine-maintaining', actions: 'rememberEngine' },
          { guard: 'nativeWanted', target: 'native-requested', actions: 'rememberEngine' },
          { target: 'settled', actions: 'rememberEngine' },
        ],
        onError: [
          { guard: 'nativeWanted', target: 'native-requested', actions: 'rememberEngineFailure' },
          { target: 'settled', actions: 'rememberEngineFailure' },
        ],
      },
      on: { INTERRUPT: 'settled' },
      after: {
        compactBudget: [
          { guard: 'nativeWanted', target: 'native-requested', actions: 'engineTimedOut' },
          { target: 'settled', actions: 'engineTimedOut' },
        ],
      },
    },
    'engine-maintaining': {
      description: 'The engine maintains itself after a compaction of its own; a failure costs nothing but a note.',
      meta: { spec: ['K1', 'E1'] },
      invoke: {
        id: 'maintainEngine',
        src: 'maintainEngine',
        input: who,
        onDone: [{ guard: 'nativeWanted', target: 'native-requested' }, { target: 'settled' }],
        onError: [
          { guard: 'nativeWanted', target: 'native-requested', actions: 'degradeMaintenance' },
          { target: 'settled', actions: 'degradeMaintenance' },
        ],
      },
      on: { INTERRUPT: 'settled' },
      after: {
        maintainBudget: [
          { guard: 'nativeWanted', target: 'native-requested', actions: 'maintenanceTimedOut' },
          { target: 'settled', actions: 'maintenanceTimedOut' },
        ],
      },
    },
    'native-requested': {
      description: 'The bound thread is resumed, and thread/compact/start is sent if nothing runs on it.',
      meta: { spec: ['K1', 'K2', 'G3'] },
      invoke: {
        id: 'requestNative',
        src: 'requestNative',
        input: who,
        onDone: 'native-running',
        onError: { target: 'settled', actions: 'rememberNativeFailure' },
      },
      on: { INTERRUPT: 'interrupting' },
      after: { threadStartBudget: { target: 'settled', actions: 'nativeUnanswered' } },
    },
    'native-running': {
      description: 'Codex compacts the thread in a turn of its own.',
      meta: { spec: ['K1', 'K2', 'K5'] },
      invoke: {
        id: 'awaitNative',
        src: 'awaitNative',
        input: who,
        onDone: { target: 'settled', actions: 'rememberNative' },
        onError: { target: 'settled', actions: 'rememberNativeFailure' },
      },
      on: { INTERRUPT: 'interrupting' },
      after: { compactBudget: { target: 'interrupting', actions: 'nativeTimedOut' } },
    },
    interrupting: {
      description: 'The native compaction was told to stop; only the end of its turn says what it came to.',
      meta: { spec: ['K4'] },
      invoke: {
        id: 'interruptNative',
        src: 'interruptNative',
        input: who,
        onDone: { target: 'settled', actions: 'rememberInterrupted' },
        onError: { target: 'settled', actions: 'nativeUninterrupted' },
      },
      after: { graceInterrupt: { target: 'settled', actions: 'nativeUninterrupted' } },
    },
    settled: { type: 'final', description: 'Both results are known.', meta: { spec: ['K1'] } },
  },
  output: ({ context }) => compactionOutput(context),
});
