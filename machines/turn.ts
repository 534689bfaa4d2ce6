import { assign, fromCallback, fromPromise, setup } from 'xstate';

/**
 * One native turn, from the request to the moment nothing of it can change any more.
 *
 * The parent tells it to stop with INTERRUPT and a reason; the first reason wins. It ends by itself in every case:
 * by the server's `turn/completed`, by the process's end, or by a budget.
 */

export type InterruptReason = 'abort' | 'deadline' | 'yield';
export type NativeStatus = 'completed' | 'interrupted' | 'failed';

export interface TurnFault {
  code: string;
  message: string;
}

export interface TurnBudgets {
  /** Milliseconds for the answer to `turn/start`, and for the end of a turn that was asked to stop. */
  request: number;
  /** Milliseconds for what is still under way after `turn/completed`. */
  drain: number;
}

export interface TurnInput {
  attemptId: string;
  budgets: TurnBudgets;
}

export interface TurnContext extends TurnInput {
  why: InterruptReason | null;
  status: NativeStatus | null;
  fault: TurnFault | null;
  replaySafe: boolean;
}

/** `overflow`: the model refused the request as larger than its context window. */
export interface TurnOutput {
  outcome: 'completed' | 'yielded' | 'aborted' | 'failed';
  cause: TurnFault | null;
  overflow: boolean;
  replaySafe: boolean;
}

export type TurnEvent =
  | { type: 'COMPLETED'; status: NativeStatus; fault?: TurnFault }
  | { type: 'EXITED'; message?: string }
  | { type: 'EFFECT' }
  | { type: 'INTERRUPT'; why: InterruptReason }
  | { type: 'xstate.done.actor.request'; output: unknown }
  | { type: 'xstate.error.actor.request'; error: unknown };

export interface TurnActorInput {
  attemptId: string;
}

const OVERFLOW = 'context_window_exceeded';

export function faultOf(error: unknown, fallback: string): TurnFault {
  if (typeof error === 'object' && error !== null) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    return {
      code: typeof code === 'string' && code !== '' ? code : fallback,
      message: typeof message === 'string' ? message : fallback,
    };
  }
  return { code: fallback, message: typeof error === 'string' ? error : fallback };
}

/** What the turn came to. Total: every combination has an answer. */
export function turnOutput(context: TurnContext): TurnOutput {
  const { status, why, fault, replaySafe } = context;
  const end = (outcome: TurnOutput['outcome'], cause: TurnFault | null): TurnOutput => ({
    outcome,
    cause,
    overflow: cause?.code === OVERFLOW,
    replaySafe,
  });
  if (status === 'completed') return end(why === 'yield' ? 'yielded' : 'completed', null);
  if (status === 'failed') return end('failed', fault ?? { code: 'turn_failed', message: 'the turn failed' });
  switch (why) {
    case 'abort':
      return end('aborted', null);
    case 'yield':
      return end('yielded', null);
    case 'deadline':
      return end('failed', { code: 'budget_execution', message: 'the execution budget ran out' });
    case null:
      if (status === null) return end('failed', fault ?? { code: 'turn_lost', message: 'the turn was lost' });
      return end('failed', {
        code: 'interrupted_elsewhere',
        message: 'the turn was interrupted, and not by this attempt',
      });
  }
}

const unprovided = async (): Promise<unknown> => {
  throw new Error('this actor was not provided');
};

export const turnMachine = setup({
  types: {
    context: {} as TurnContext,
    input: {} as TurnInput,
    events: {} as TurnEvent,
    output: {} as TurnOutput,
    meta: {} as { spec: string[] },
  },
  actors: {
    watch: fromCallback<TurnEvent, TurnActorInput>(() => {}),
    request: fromPromise<unknown, TurnActorInput>(unprovided),
    interrupt: fromPromise<unknown, TurnActorInput>(unprovided),
    drain: fromPromise<unknown, TurnActorInput>(unprovided),
  },
  actions: {
    rememberWhy: assign({
      why: ({ context, event }) => (event.type === 'INTERRUPT' ? (context.why ?? event.why) : context.why),
    }),
    rememberStatus: assign({
      status: ({ context, event }) => (event.type === 'COMPLETED' ? (context.status ?? event.status) : context.status),
      fault: ({ context, event }) => (event.type === 'COMPLETED' ? (event.fault ?? context.fault) : context.fault),
    }),
    rememberExit: assign({
      // What ended the turn before the process did stays its cause.
      fault: ({ context, event }) => {
        if (event.type !== 'EXITED' || context.status !== null) return context.fault;
        return (
          context.fault ?? {
            code: 'app_server_exited',
            message: event.message ?? 'codex app-server ended during the turn',
          }
        );
      },
    }),
    rememberRefusal: assign({
      fault: ({ context, event }) =>
        event.type === 'xstate.error.actor.request' ? faultOf(event.error, 'turn_refused') : context.fault,
    }),
    rememberSilence: assign({
      fault: ({ context }) =>
        context.fault ?? { code: 'turn_unanswered', message: 'codex app-server did not answer in time' },
    }),
    rememberEffect: assign({ replaySafe: false }),
  },
  delays: {
    requestBudget: ({ context }) => context.budgets.request,
    drainBudget: ({ context }) => context.budgets.drain,
  },
}).createMachine({
  id: 'turn',
  description: 'One native turn of a Codex thread.',
  context: ({ input }) => ({ ...input, why: null, status: null, fault: null, replaySafe: true }),
  invoke: { id: 'watch', src: 'watch', input: ({ context }) => ({ attemptId: context.attemptId }) },
  on: {
    EXITED: { target: '.settled', actions: 'rememberExit' },
    EFFECT: { actions: 'rememberEffect' },
  },
  initial: 'requesting',
  states: {
    requesting: {
      description: 'turn/start is sent; its answer gives the turn id.',
      meta: { spec: ['2.8'] },
      invoke: { id: 'request', src: 'request', input: ({ context }) => ({ attemptId: context.attemptId }) },
      on: {
        COMPLETED: { target: 'draining', actions: 'rememberStatus' },
        'xstate.error.actor.request': { target: 'draining', actions: 'rememberRefusal' },
      },
      after: { requestBudget: { target: 'settled', actions: 'rememberSilence' } },
      initial: 'plain',
      states: {
        plain: {
          description: 'Nobody has asked the turn to stop.',
          meta: { spec: ['2.8'] },
          on: {
            'xstate.done.actor.request': '#turn.running',
            INTERRUPT: { target: 'stopAsked', actions: 'rememberWhy' },
          },
        },
        stopAsked: {
          description: 'A stop is wanted; an interrupt can only be sent once the turn has an id.',
          meta: { spec: ['2.8', 'M4'] },
          on: { 'xstate.done.actor.request': '#turn.interrupting' },
        },
      },
    },
    running: {
      description: 'The model and its tools work.',
      meta: { spec: ['2.8', 'M4'] },
      on: {
        COMPLETED: { target: 'draining', actions: 'rememberStatus' },
        INTERRUPT: { target: 'interrupting', actions: 'rememberWhy' },
      },
    },
    interrupting: {
      description: 'turn/interrupt is sent; only turn/completed ends the turn, not the answer to the interrupt.',
      meta: { spec: ['M4', 'E3'] },
      invoke: {
        id: 'interrupt',
        src: 'interrupt',
        input: ({ context }) => ({ attemptId: context.attemptId }),
        onDone: {},
        onError: {},
      },
      on: { COMPLETED: { target: 'draining', actions: 'rememberStatus' } },
      after: { requestBudget: { target: 'settled', actions: 'rememberSilence' } },
    },
    draining: {
      description: 'The turn is over; late answers of tools and the last notifications are taken in.',
      meta: { spec: ['2.9', 'M3'] },
      invoke: {
        id: 'drain',
        src: 'drain',
        input: ({ context }) => ({ attemptId: context.attemptId }),
        onDone: 'settled',
        onError: 'settled',
      },
      after: { drainBudget: 'settled' },
    },
    settled: { type: 'final', description: 'Nothing of this turn can change any more.', meta: { spec: ['2.9'] } },
  },
  output: ({ context }) => turnOutput(context),
});
