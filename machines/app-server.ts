import { assign, fromCallback, fromPromise, setup } from 'xstate';
import { faultOf, type TurnFault } from './turn.ts';

/**
 * Life of one `codex app-server` process: it starts, is ready, is asked to leave, and is gone.
 * Leaving is a ladder: close its input, then TERM, then KILL. No process outlives this machine.
 */

export interface AppServerBudgets {
  /** Milliseconds from spawn to the answer to `initialize`. */
  start: number;
  /** Milliseconds that each rung of the ladder waits for the process to end. */
  close: number;
}

export interface AppServerInput {
  processId: string;
  budgets: AppServerBudgets;
}

export interface AppServerContext extends AppServerInput {
  fault: TurnFault | null;
}

export type AppServerEvent = { type: 'EXITED'; message?: string } | { type: 'STOP' } | { type: 'RETIRE' };

export interface ProcessActorInput {
  processId: string;
}

const unprovided = async (): Promise<unknown> => {
  throw new Error('this actor was not provided');
};

export const appServerMachine = setup({
  types: {
    context: {} as AppServerContext,
    input: {} as AppServerInput,
    events: {} as AppServerEvent,
    output: {} as { fault: TurnFault | null },
    meta: {} as { spec: string[] },
  },
  actors: {
    process: fromCallback<AppServerEvent, ProcessActorInput>(() => {}),
    handshake: fromPromise<unknown, ProcessActorInput>(unprovided),
    endInput: fromPromise<unknown, ProcessActorInput>(unprovided),
    terminate: fromPromise<unknown, ProcessActorInput>(unprovided),
    kill: fromPromise<unknown, ProcessActorInput>(unprovided),
  },
  actions: {
    rememberFault: assign({
      fault: ({ context, event }) =>
        context.fault ?? faultOf((event as { error?: unknown }).error, 'app_server_not_ready'),
    }),
    rememberSilence: assign({
      fault: ({ context }) =>
        context.fault ?? { code: 'app_server_silent', message: 'codex app-server did not answer initialize in time' },
    }),
    rememberExit: assign({
      fault: ({ context, event }) =>
        context.fault ?? {
          code: 'app_server_exited',
          message: event.type === 'EXITED' && event.message !== undefined ? event.message : 'codex app-server ended',
        },
    }),
  },
  delays: {
    startBudget: ({ context }) => context.budgets.start,
    closeGrace: ({ context }) => context.budgets.close,
  },
}).createMachine({
  id: 'app-server',
  description: 'Life of one codex app-server process.',
  context: ({ input }) => ({ ...input, fault: null }),
  invoke: { id: 'process', src: 'process', input: ({ context }) => ({ processId: context.processId }) },
  initial: 'starting',
  states: {
    starting: {
      description: 'The process is spawned and asked to initialize; its version is checked.',
      meta: { spec: ['2.7'] },
      invoke: {
        id: 'handshake',
        src: 'handshake',
        input: ({ context }) => ({ processId: context.processId }),
        onDone: 'ready',
        onError: { target: 'draining', actions: 'rememberFault' },
      },
      on: {
        EXITED: { target: 'crashed', actions: 'rememberExit' },
        STOP: 'draining',
        RETIRE: 'draining.killing',
      },
      after: { startBudget: { target: 'draining', actions: 'rememberSilence' } },
    },
    ready: {
      description: 'Requests are answered.',
      meta: { spec: ['2.7', '2.8'] },
      on: {
        EXITED: { target: 'crashed', actions: 'rememberExit' },
        STOP: 'draining',
        RETIRE: 'draining.killing',
      },
    },
    draining: {
      description: 'The process is asked to leave, more firmly each time.',
      meta: { spec: ['G3'] },
      on: { EXITED: 'stopped' },
      initial: 'closing',
      states: {
        closing: {
          description: 'Its input is closed: it ends by itself and cleans up its own children.',
          meta: { spec: ['G3'] },
          invoke: {
            id: 'endInput',
            src: 'endInput',
            input: ({ context }) => ({ processId: context.processId }),
            onDone: {},
            onError: {},
          },
          on: { RETIRE: 'killing' },
          after: { closeGrace: 'terminating' },
        },
        terminating: {
          description: 'SIGTERM is sent.',
          meta: { spec: ['G3'] },
          invoke: {
            id: 'terminate',
            src: 'terminate',
            input: ({ context }) => ({ processId: context.processId }),
            onDone: {},
            onError: {},
          },
          on: { RETIRE: 'killing' },
          after: { closeGrace: 'killing' },
        },
        killing: {
          description: 'SIGKILL is sent.',
          meta: { spec: ['G3'] },
          invoke: {
            id: 'kill',
            src: 'kill',
            input: ({ context }) => ({ processId: context.processId }),
            onDone: {},
            onError: {},
          },
          after: { closeGrace: '#app-server.stopped' },
        },
      },
    },
    stopped: { type: 'final', description: 'The process is gone, as asked.', meta: { spec: ['G3'] } },
    crashed: { type: 'final', description: 'The process ended by itself.', meta: { spec: ['E3'] } },
  },
  output: ({ context }) => ({ fault: context.fault }),
});
