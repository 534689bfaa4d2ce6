import { assign, fromPromise, setup } from 'xstate';
import { faultOf, type InterruptReason, type TurnFault } from './turn.ts';

/**
 * Two compactions that are never confused: the engine's, which is the session's, and the native one, which only keeps
 * the bound thread healthy (spec 8).
 */

export interface CompactionInput {
  attemptId: string;
  /** The engine's `compact` is primary (spec K1); otherwise only the native one runs (spec K2). */
  ownsCompaction: boolean;
  /** After an overflow the thread is replaced, so it is not compacted natively. */
  nativeWanted: boolean;
}

export interface CompactionContext extends CompactionInput {
  why: InterruptReason | null;
  engine: 'compacted' | 'unchanged' | 'failed' | null;
  native: 'compacted' | 'nothing' | 'failed' | null;
  fault: TurnFault | null;
}

/** `engine`, `native`: which one really compacted; `nothing`: there was nothing to do; `failed`: the primary one failed. */
export interface CompactionOutput {
  compaction: 'engine' | 'native' | 'nothing' | 'failed';
  cause: TurnFault | null;
}

export type CompactionEvent =
  | { type: 'INTERRUPT'; why: InterruptReason }
  | { type: 'xstate.done.actor.compactEngine'; output: { compacted: boolean } }
  | { type: 'xstate.error.actor.compactEngine'; error: unknown }
  | { type: 'xstate.done.actor.compactNative'; output: { compacted: boolean } }
  | { type: 'xstate.error.actor.compactNative'; error: unknown };

export interface CompactionActorInput {
  attemptId: string;
}

/** What the two came to. Total. */
export function compactionOutput(context: CompactionContext): CompactionOutput {
  const failed = (message: string): CompactionOutput => ({
    compaction: 'failed',
    cause: context.fault ?? { code: 'compaction_failed', message },
  });
  if (context.ownsCompaction) {
    if (context.engine === 'compacted') return { compaction: 'engine', cause: null };
    if (context.engine === 'unchanged') return { compaction: 'nothing', cause: null };
    return failed('the engine did not compact');
  }
  if (context.native === 'compacted') return { compaction: 'native', cause: null };
  if (context.native === 'nothing') return { compaction: 'nothing', cause: null };
  return failed('the native compaction did not finish');
}

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
    compactEngine: fromPromise<{ compacted: boolean }, CompactionActorInput>(unprovided),
    compactNative: fromPromise<{ compacted: boolean }, CompactionActorInput>(unprovided),
    interruptNative: fromPromise<unknown, CompactionActorInput>(unprovided),
  },
  guards: {
    engineOwnsCompaction: ({ context }) => context.ownsCompaction,
    nativeWanted: ({ context }) => context.nativeWanted,
  },
  actions: {
    rememberWhy: assign({
      why: ({ context, event }) => (event.type === 'INTERRUPT' ? (context.why ?? event.why) : context.why),
    }),
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
    rememberNative: assign({
      native: ({ context, event }) => {
        if (event.type !== 'xstate.done.actor.compactNative') return context.native;
        return event.output.compacted ? 'compacted' : 'nothing';
      },
    }),
    rememberNativeFailure: assign({
      native: 'failed',
      fault: ({ context, event }) =>
        context.fault ??
        (event.type === 'xstate.error.actor.compactNative' ? faultOf(event.error, 'compaction_failed') : null),
    }),
  },
}).createMachine({
  id: 'compaction',
  description: 'One explicit compaction: the engine first, the native thread second.',
  context: ({ input }) => ({ ...input, why: null, engine: null, native: null, fault: null }),
  initial: 'deciding',
  states: {
    deciding: {
      description: 'Who owns compaction?',
      meta: { spec: ['K1', 'K2'] },
      always: [
        { guard: 'engineOwnsCompaction', target: 'engine-compacting' },
        { guard: 'nativeWanted', target: 'native-running' },
        { target: 'settled' },
      ],
    },
    'engine-compacting': {
      description: "The engine's compact() runs; its result is the primary one.",
      meta: { spec: ['K1'] },
      invoke: {
        id: 'compactEngine',
        src: 'compactEngine',
        input: ({ context }) => ({ attemptId: context.attemptId }),
        onDone: [
          { guard: 'nativeWanted', target: 'native-running', actions: 'rememberEngine' },
          { target: 'settled', actions: 'rememberEngine' },
        ],
        onError: [
          { guard: 'nativeWanted', target: 'native-running', actions: 'rememberEngineFailure' },
          { target: 'settled', actions: 'rememberEngineFailure' },
        ],
      },
      on: { INTERRUPT: { target: 'settled', actions: 'rememberWhy' } },
    },
    'native-running': {
      description: 'thread/compact/start runs as a turn of its own.',
      meta: { spec: ['K1', 'K2', 'K5'] },
      invoke: {
        id: 'compactNative',
        src: 'compactNative',
        input: ({ context }) => ({ attemptId: context.attemptId }),
        onDone: { target: 'settled', actions: 'rememberNative' },
        onError: { target: 'settled', actions: 'rememberNativeFailure' },
      },
      on: { INTERRUPT: { target: 'interrupting', actions: 'rememberWhy' } },
    },
    interrupting: {
      description: 'The native compaction is interrupted; the parent bounds the wait.',
      meta: { spec: ['K4'] },
      invoke: {
        id: 'interruptNative',
        src: 'interruptNative',
        input: ({ context }) => ({ attemptId: context.attemptId }),
        onDone: 'settled',
        onError: 'settled',
      },
    },
    settled: { type: 'final', description: 'Both results are known.', meta: { spec: ['K1'] } },
  },
  output: ({ context }) => compactionOutput(context),
});
