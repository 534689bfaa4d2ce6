import { assign, fromPromise, sendTo, setup } from 'xstate';
import type {
  ActorInput,
  AttemptContext,
  AttemptEvent,
  AttemptInput,
  AttemptOutput,
  FinalizeOutput,
  MaintainOutput,
  OpenOutput,
  ProjectOutput,
} from './attempt-types.ts';
import * as update from './attempt-updates.ts';
import { outputOf } from './attempt-updates.ts';
import { compactionMachine } from './compaction.ts';
import { turnMachine } from './turn.ts';

/**
 * One attempt: one run of the harness for one user prompt.
 *
 * The happy way is bootstrap → assembling → projecting → hook-build → thread-start → turning → mirroring → finalizing
 * → maintaining → completed. Whether and when something happens is decided here and nowhere else; what happens in a
 * state is in src/attempt/<state>.ts.
 */

const step = <Output>() =>
  fromPromise<Output, ActorInput>(async () => {
    throw new Error('this actor was not provided');
  });

const who = ({ context }: { context: AttemptContext }): ActorInput => ({ attemptId: context.attemptId });

export const attemptMachine = setup({
  types: {
    context: {} as AttemptContext,
    input: {} as AttemptInput,
    events: {} as AttemptEvent,
    output: {} as AttemptOutput,
    meta: {} as { spec: string[] },
  },
  actors: {
    open: step<OpenOutput>(),
    recover: step<unknown>(),
    drainOutbox: step<unknown>(),
    read: step<unknown>(),
    bootstrapEngine: step<unknown>(),
    bootstrapMaintenance: step<unknown>(),
    reread: step<unknown>(),
    assemble: step<unknown>(),
    project: step<ProjectOutput>(),
    buildPrompt: step<unknown>(),
    connect: step<unknown>(),
    resumeThread: step<unknown>(),
    startThread: step<unknown>(),
    turn: turnMachine,
    mirror: step<unknown>(),
    finalize: step<FinalizeOutput>(),
    maintain: step<MaintainOutput>(),
    compaction: compactionMachine,
  },
  guards: {
    journalOpen: ({ event }) => outputOf(event, 'open')?.journalOpen === true,
    engineBootstraps: ({ context }) => context.hadSessionFile && context.engine?.bootstrap === true,
    engineMaintainsAtBootstrap: ({ context }) => context.hadSessionFile && context.engine?.maintain === true,
    engineMaintains: ({ context }) => context.engine?.maintain === true,
    onlyCompaction: ({ context }) => context.request === 'compact',
    toolsFailed: ({ event }) => update.errorOf(event).code === 'tools_failed',
    toolsFailedAfterOverflow: ({ context, event }) =>
      update.errorOf(event).code === 'tools_failed' && context.overflowTries > 0,
    turnAlreadyRan: ({ context }) => context.overflowTries > 0,
    resumes: ({ context }) => context.thread === 'resume',
    staleForTheFirstTime: ({ context, event }) =>
      update.errorOf(event).code === 'thread_stale' && context.freshThreadTries < 1,
    overflowCanBeCompacted: ({ context, event }) => {
      const turn = outputOf(event, 'turn');
      return (
        turn?.outcome === 'failed' &&
        turn.overflow &&
        turn.replaySafe &&
        context.engine?.ownsCompaction === true &&
        context.overflowTries < 1 &&
        context.stop === null
      );
    },
    abortAsked: ({ context }) => context.stop === 'abort',
    maintenanceDue: ({ context }) =>
      context.outcome === 'completed' &&
      context.finalization === 'ok' &&
      context.stop !== 'abort' &&
      context.engine?.maintain === true,
    turnCompleted: ({ context }) => context.outcome === 'completed',
    turnYielded: ({ context }) => context.outcome === 'yielded',
    turnAborted: ({ context }) => context.outcome === 'aborted',
    roomWasMade: ({ context }) =>
      context.request === 'turn' && context.compaction === 'engine' && context.stop === null,
    turnStoppedByAbort: ({ context }) => context.request === 'turn' && context.stop === 'abort',
    forTurn: ({ context }) => context.request === 'turn',
    compactionSucceeded: ({ context }) => context.compaction !== 'failed' && context.compaction !== null,
  },
  actions: {
    rememberOpened: assign(update.rememberOpened),
    failWithError: assign(update.failWithError),
    failWithStoreBudget: assign(update.failWithBudget('store')),
    failWithThreadStartBudget: assign(update.failWithBudget('threadStart')),
    degradeRecovering: assign(update.degradeWithError('bootstrap.recovering')),
    degradeRecoveringBudget: assign(update.degradeWithBudget('bootstrap.recovering', 'store')),
    degradeDraining: assign(update.degradeWithError('bootstrap.draining')),
    degradeDrainingBudget: assign(update.degradeWithBudget('bootstrap.draining', 'bootstrap')),
    suspendEngine: assign(update.suspendEngine),
    degradeEngine: assign(update.degradeWithError('bootstrap.engine')),
    degradeEngineBudget: assign(update.degradeWithBudget('bootstrap.engine', 'bootstrap')),
    degradeMaintenance: assign(update.degradeWithError('bootstrap.maintenance')),
    degradeMaintenanceBudget: assign(update.degradeWithBudget('bootstrap.maintenance', 'maintain')),
    degradeRereading: assign(update.degradeWithError('bootstrap.rereading')),
    degradeRereadingBudget: assign(update.degradeWithBudget('bootstrap.rereading', 'store')),
    degradeAssembling: assign(update.degradeWithError('assembling')),
    degradeAssemblingBudget: assign(update.degradeWithBudget('assembling', 'assemble')),
    rememberThread: assign(update.rememberThread),
    degradeProjecting: assign(update.degradeWithError('projecting')),
    degradeHooks: assign(update.degradeWithError('hook-build')),
    degradeHooksBudget: assign(update.degradeWithBudget('hook-build', 'hooks')),
    startFreshThread: assign(update.startFreshThread),
    endAborted: assign(update.endAborted),
    rememberTurn: assign(update.rememberTurn),
    rememberOverflow: assign(update.rememberOverflow),
    rememberTurnBug: assign(update.rememberTurnBug),
    stopForAbort: assign(update.stopForAbort),
    stopForDeadline: assign(update.stopForDeadline),
    rememberUninterrupted: assign(update.rememberUninterrupted),
    degradeMirroring: assign(update.degradeWithError('mirroring')),
    degradeMirroringBudget: assign(update.degradeWithBudget('mirroring', 'mirror')),
    degradeMirroringGrace: assign(update.degradeWithBudget('mirroring', 'graceMirror')),
    rememberFinalization: assign(update.rememberFinalization),
    finalizationFailed: assign(update.finalizationFailed),
    finalizationTimedOut: assign(update.finalizationTimedOut('finalize')),
    finalizationCutShort: assign(update.finalizationTimedOut('graceFinalize')),
    rememberNotMaintained: assign(update.rememberNotMaintained),
    rememberMaintained: assign(update.rememberMaintained),
    maintenanceFailed: assign(update.maintenanceFailed),
    maintenanceTimedOut: assign(update.maintenanceTimedOut),
    maintenanceAborted: assign(update.maintenanceAborted),
    rememberCompaction: assign(update.rememberCompaction),
    compactionBroke: assign(update.compactionBroke),
    startOver: assign(update.startOver),
    overflowStands: assign(update.overflowStands),
    endCompleted: assign(update.endCompleted),
    endFailed: assign(update.endFailed),
    tellTurnToAbort: sendTo('turn', { type: 'INTERRUPT', why: 'abort' }),
    tellTurnDeadline: sendTo('turn', { type: 'INTERRUPT', why: 'deadline' }),
    tellCompactionToStop: sendTo('compaction', { type: 'INTERRUPT' }),
  },
  delays: {
    storeBudget: ({ context }) => context.budgets.store,
    bootstrapBudget: ({ context }) => context.budgets.bootstrap,
    assembleBudget: ({ context }) => context.budgets.assemble,
    hooksBudget: ({ context }) => context.budgets.hooks,
    threadStartBudget: ({ context }) => context.budgets.threadStart,
    executionBudget: ({ context }) => context.budgets.execution,
    mirrorBudget: ({ context }) => context.budgets.mirror,
    finalizeBudget: ({ context }) => context.budgets.finalize,
    maintainBudget: ({ context }) => context.budgets.maintain,
    graceInterrupt: ({ context }) => context.budgets.graceInterrupt,
    graceMirror: ({ context }) => context.budgets.graceMirror,
    graceFinalize: ({ context }) => context.budgets.graceFinalize,
  },
}).createMachine({
  id: 'attempt',
  description: 'One attempt: one user prompt, one Codex turn, with the context engine around it.',
  context: ({ input }) => ({
    ...input,
    hadSessionFile: false,
    thread: 'start',
    freshThreadTries: 0,
    overflowTries: 0,
    outcome: null,
    stop: null,
    cause: null,
    compaction: null,
    finalization: null,
    maintenance: null,
    degraded: [],
  }),
  initial: 'bootstrap',
  states: {
    bootstrap: {
      description: 'The session is taken and read, and the engine prepares itself for it.',
      meta: { spec: ['2.1', '2.2', '2.3', 'E2'] },
      on: { ABORT: { target: 'aborted', actions: 'endAborted' } },
      initial: 'opening',
      states: {
        opening: {
          description: 'Lock, look for the session file, read binding and journal. Nothing is written.',
          meta: { spec: ['2.1', '2.2', 'T1'] },
          invoke: {
            id: 'open',
            src: 'open',
            input: who,
            onDone: [
              { guard: 'journalOpen', target: 'recovering', actions: 'rememberOpened' },
              { target: 'draining', actions: 'rememberOpened' },
            ],
            onError: { target: '#attempt.failed', actions: 'failWithError' },
          },
          after: { storeBudget: { target: '#attempt.failed', actions: 'failWithStoreBudget' } },
        },
        recovering: {
          description: 'An intent left by a crash is closed with what the native thread knows; no turn is run again.',
          meta: { spec: ['M4', 'E1'] },
          invoke: {
            id: 'recover',
            src: 'recover',
            input: who,
            onDone: 'draining',
            onError: { target: 'draining', actions: 'degradeRecovering' },
          },
          after: { storeBudget: { target: 'draining', actions: 'degradeRecoveringBudget' } },
        },
        draining: {
          description: 'Accepted turns that a durable engine has not taken yet are committed, in order.',
          meta: { spec: ['D3', 'D4'] },
          invoke: {
            id: 'drainOutbox',
            src: 'drainOutbox',
            input: who,
            onDone: 'reading',
            onError: { target: 'reading', actions: ['suspendEngine', 'degradeDraining'] },
          },
          after: { bootstrapBudget: { target: 'reading', actions: ['suspendEngine', 'degradeDrainingBudget'] } },
        },
        reading: {
          description: 'The mirrored transcript is read; its leaf is the fence of this attempt.',
          meta: { spec: ['2.1', 'D2'] },
          invoke: {
            id: 'read',
            src: 'read',
            input: who,
            onDone: [
              { guard: 'engineBootstraps', target: 'engine' },
              { guard: 'engineMaintainsAtBootstrap', target: 'maintenance' },
              { target: 'leaving' },
            ],
            onError: { target: '#attempt.failed', actions: 'failWithError' },
          },
          after: { storeBudget: { target: '#attempt.failed', actions: 'failWithStoreBudget' } },
        },
        engine: {
          description: 'The engine bootstraps, because the session file was there before this attempt.',
          meta: { spec: ['2.2', 'L2', 'E1'] },
          invoke: {
            id: 'bootstrapEngine',
            src: 'bootstrapEngine',
            input: who,
            onDone: [{ guard: 'engineMaintains', target: 'maintenance' }, { target: 'rereading' }],
            onError: { target: 'rereading', actions: 'degradeEngine' },
          },
          after: { bootstrapBudget: { target: 'rereading', actions: 'degradeEngineBudget' } },
        },
        maintenance: {
          description: 'Bootstrap maintenance; not subject to the conditions of turn maintenance.',
          meta: { spec: ['2.3', 'E2'] },
          invoke: {
            id: 'bootstrapMaintenance',
            src: 'bootstrapMaintenance',
            input: who,
            onDone: 'rereading',
            onError: { target: 'rereading', actions: 'degradeMaintenance' },
          },
          after: { maintainBudget: { target: 'rereading', actions: 'degradeMaintenanceBudget' } },
        },
        rereading: {
          description: 'The transcript is read again: the engine may have rewritten it.',
          meta: { spec: ['2.3', 'M5'] },
          invoke: {
            id: 'reread',
            src: 'reread',
            input: who,
            onDone: 'leaving',
            onError: { target: 'leaving', actions: 'degradeRereading' },
          },
          after: { storeBudget: { target: 'leaving', actions: 'degradeRereadingBudget' } },
        },
        leaving: {
          description: 'A turn, or only a compaction?',
          meta: { spec: ['K1'] },
          always: [{ guard: 'onlyCompaction', target: '#attempt.compacting' }, { target: '#attempt.assembling' }],
        },
      },
    },
    assembling: {
      description: 'Tools are built first, then the engine assembles what the model shall see of the past.',
      meta: { spec: ['2.4', 'L3', 'E1'] },
      on: {
        ABORT: [
          { guard: 'turnAlreadyRan', target: 'mirroring', actions: 'endAborted' },
          { target: 'aborted', actions: 'endAborted' },
        ],
      },
      invoke: {
        id: 'assemble',
        src: 'assemble',
        input: who,
        onDone: 'projecting',
        onError: [
          { guard: 'toolsFailedAfterOverflow', target: 'mirroring', actions: 'failWithError' },
          { guard: 'toolsFailed', target: 'failed', actions: 'failWithError' },
          { target: 'projecting', actions: 'degradeAssembling' },
        ],
      },
      after: { assembleBudget: { target: 'projecting', actions: 'degradeAssemblingBudget' } },
    },
    projecting: {
      description: 'The assembly becomes prompt text; it is decided whether the native thread is resumed or started.',
      meta: { spec: ['2.5', 'P2', 'P5', 'P7', 'T1'] },
      on: {
        ABORT: [
          { guard: 'turnAlreadyRan', target: 'mirroring', actions: 'endAborted' },
          { target: 'aborted', actions: 'endAborted' },
        ],
      },
      invoke: {
        id: 'project',
        src: 'project',
        input: who,
        onDone: { target: 'hook-build', actions: 'rememberThread' },
        onError: { target: 'hook-build', actions: 'degradeProjecting' },
      },
    },
    'hook-build': {
      description: 'Hooks see what Codex will get and may add to it; the result is fitted to the input limit.',
      meta: { spec: ['2.6', 'E1'] },
      on: {
        ABORT: [
          { guard: 'turnAlreadyRan', target: 'mirroring', actions: 'endAborted' },
          { target: 'aborted', actions: 'endAborted' },
        ],
      },
      invoke: {
        id: 'buildPrompt',
        src: 'buildPrompt',
        input: who,
        onDone: 'thread-start',
        onError: { target: 'thread-start', actions: 'degradeHooks' },
      },
      after: { hooksBudget: { target: 'thread-start', actions: 'degradeHooksBudget' } },
    },
    'thread-start': {
      description: 'The native thread is resumed or started with the final developer instructions.',
      meta: { spec: ['2.7', 'T1', 'G3'] },
      on: {
        ABORT: [
          { guard: 'turnAlreadyRan', target: 'mirroring', actions: 'endAborted' },
          { target: 'aborted', actions: 'endAborted' },
        ],
      },
      after: {
        threadStartBudget: [
          { guard: 'turnAlreadyRan', target: 'mirroring', actions: 'failWithThreadStartBudget' },
          { target: 'failed', actions: 'failWithThreadStartBudget' },
        ],
      },
      initial: 'connecting',
      states: {
        connecting: {
          description: 'A ready app-server is found or started.',
          meta: { spec: ['2.7'] },
          invoke: {
            id: 'connect',
            src: 'connect',
            input: who,
            onDone: [{ guard: 'resumes', target: 'resuming' }, { target: 'starting' }],
            onError: [
              { guard: 'turnAlreadyRan', target: '#attempt.mirroring', actions: 'failWithError' },
              { target: '#attempt.failed', actions: 'failWithError' },
            ],
          },
        },
        resuming: {
          description: 'thread/resume; instructions that differ from what the thread was given last are injected.',
          meta: { spec: ['2.7', 'T1'] },
          invoke: {
            id: 'resumeThread',
            src: 'resumeThread',
            input: who,
            onDone: '#attempt.turning',
            onError: [
              { guard: 'staleForTheFirstTime', target: '#attempt.projecting', actions: 'startFreshThread' },
              { target: '#attempt.failed', actions: 'failWithError' },
            ],
          },
        },
        starting: {
          description: 'thread/start.',
          meta: { spec: ['2.7'] },
          invoke: {
            id: 'startThread',
            src: 'startThread',
            input: who,
            onDone: '#attempt.turning',
            onError: [
              { guard: 'turnAlreadyRan', target: '#attempt.mirroring', actions: 'failWithError' },
              { target: '#attempt.failed', actions: 'failWithError' },
            ],
          },
        },
      },
    },
    turning: {
      description: 'The native turn runs with the final prompt text.',
      meta: { spec: ['2.8', 'M4', 'E3'] },
      invoke: {
        id: 'turn',
        src: 'turn',
        input: ({ context }) => ({
          attemptId: context.attemptId,
          budgets: { request: context.budgets.request, drain: context.budgets.drain },
        }),
        onDone: [
          { guard: 'overflowCanBeCompacted', target: 'compacting', actions: 'rememberOverflow' },
          { target: 'mirroring', actions: 'rememberTurn' },
        ],
        onError: { target: 'mirroring', actions: 'rememberTurnBug' },
      },
      initial: 'running',
      states: {
        running: {
          description: 'Nobody has asked the turn to stop.',
          meta: { spec: ['2.8'] },
          on: { ABORT: { target: 'interrupting', actions: ['stopForAbort', 'tellTurnToAbort'] } },
          after: { executionBudget: { target: 'interrupting', actions: ['stopForDeadline', 'tellTurnDeadline'] } },
        },
        interrupting: {
          description: 'The turn was told to stop; it has a short grace to end in order.',
          meta: { spec: ['M4', 'E3'] },
          // After a deadline an abort still counts: what follows is hurried, and nothing is maintained (spec 2.11).
          on: { ABORT: { actions: 'stopForAbort' } },
          after: { graceInterrupt: { target: '#attempt.mirroring', actions: 'rememberUninterrupted' } },
        },
      },
    },
    mirroring: {
      description: "The turn's rows are written to the session; then llm_output and agent_end.",
      meta: { spec: ['2.9', 'M1', 'M2'] },
      on: { ABORT: { actions: 'stopForAbort' } },
      invoke: {
        id: 'mirror',
        src: 'mirror',
        input: who,
        onDone: 'finalizing',
        onError: { target: 'finalizing', actions: 'degradeMirroring' },
      },
      after: { mirrorBudget: { target: 'finalizing', actions: 'degradeMirroringBudget' } },
      initial: 'writing',
      states: {
        writing: {
          description: 'Written without hurry.',
          meta: { spec: ['2.9'] },
          always: { guard: 'abortAsked', target: 'hurried' },
        },
        hurried: {
          description: 'An abort is waiting: only a short grace is left.',
          meta: { spec: ['2.9', 'M4'] },
          after: { graceMirror: { target: '#attempt.finalizing', actions: 'degradeMirroringGrace' } },
        },
      },
    },
    finalizing: {
      description: 'Exactly one finalizer tells the engine what happened.',
      meta: { spec: ['2.10', 'L4', 'D1', 'D3'] },
      initial: 'working',
      states: {
        working: {
          description: 'The finalizer runs.',
          meta: { spec: ['2.10'] },
          always: { guard: 'abortAsked', target: 'hurried' },
        },
        hurried: {
          description: 'An abort is waiting: the finalizer is not cancelled, but not waited for long either.',
          meta: { spec: ['2.10', 'M4'] },
          after: { graceFinalize: { target: 'settled', actions: 'finalizationCutShort' } },
        },
        settled: {
          description: 'Is turn maintenance due?',
          meta: { spec: ['2.11', 'E2', 'E3'] },
          always: [
            { guard: 'maintenanceDue', target: '#attempt.maintaining' },
            { guard: 'turnCompleted', target: '#attempt.completed', actions: 'rememberNotMaintained' },
            { guard: 'turnYielded', target: '#attempt.yielded', actions: 'rememberNotMaintained' },
            { guard: 'turnAborted', target: '#attempt.aborted', actions: 'rememberNotMaintained' },
            { target: '#attempt.failed', actions: 'rememberNotMaintained' },
          ],
        },
      },
      on: { ABORT: { actions: 'stopForAbort' } },
      invoke: {
        id: 'finalize',
        src: 'finalize',
        input: who,
        onDone: { target: '.settled', actions: 'rememberFinalization' },
        onError: { target: '.settled', actions: 'finalizationFailed' },
      },
      after: { finalizeBudget: { target: '.settled', actions: 'finalizationTimedOut' } },
    },
    maintaining: {
      description: 'Turn maintenance, after a completed turn that was finalized.',
      meta: { spec: ['2.11', 'E2', 'D4'] },
      on: { ABORT: { target: 'completed', actions: 'maintenanceAborted' } },
      invoke: {
        id: 'maintain',
        src: 'maintain',
        input: who,
        onDone: { target: 'completed', actions: 'rememberMaintained' },
        onError: { target: 'completed', actions: 'maintenanceFailed' },
      },
      after: { maintainBudget: { target: 'completed', actions: 'maintenanceTimedOut' } },
    },
    compacting: {
      description: 'An explicit compaction, or room made after an overflow.',
      meta: { spec: ['K1', 'K2', 'K4'] },
      invoke: {
        id: 'compaction',
        src: 'compaction',
        input: ({ context }) => ({
          attemptId: context.attemptId,
          ownsCompaction: context.engine?.ownsCompaction === true,
          maintains: context.engine?.maintain === true,
          nativeWanted: context.request === 'compact',
          budgets: update.compactionBudgets(context.budgets),
        }),
        onDone: { target: '.settled', actions: 'rememberCompaction' },
        onError: { target: '.settled', actions: 'compactionBroke' },
      },
      initial: 'working',
      states: {
        working: {
          description: 'The compaction runs.',
          meta: { spec: ['K1', 'K2'] },
          on: { ABORT: { target: 'interrupting', actions: ['stopForAbort', 'tellCompactionToStop'] } },
        },
        interrupting: {
          description: 'The compaction was told to stop; it ends itself within its own grace.',
          meta: { spec: ['K4'] },
        },
        settled: {
          description: 'A compaction never turns into a fresh prompt by itself.',
          meta: { spec: ['K1', 'K4', 'E3'] },
          always: [
            { guard: 'roomWasMade', target: '#attempt.assembling', actions: 'startOver' },
            { guard: 'turnStoppedByAbort', target: '#attempt.mirroring', actions: 'endAborted' },
            { guard: 'forTurn', target: '#attempt.mirroring', actions: 'overflowStands' },
            { guard: 'compactionSucceeded', target: '#attempt.completed', actions: 'endCompleted' },
            { guard: 'abortAsked', target: '#attempt.aborted', actions: 'endAborted' },
            { target: '#attempt.failed', actions: 'endFailed' },
          ],
        },
      },
    },
    completed: { type: 'final', description: 'The turn was accepted.', meta: { spec: ['E3'] } },
    yielded: { type: 'final', description: 'A tool ended the turn by yielding.', meta: { spec: ['E3', 'M4'] } },
    aborted: { type: 'final', description: 'The attempt was aborted.', meta: { spec: ['E3', 'M4'] } },
    failed: { type: 'final', description: 'There is no accepted answer.', meta: { spec: ['E3'] } },
  },
  output: ({ context }) => ({
    outcome: context.outcome ?? 'failed',
    cause: context.cause,
    compaction: context.compaction,
    finalization: context.finalization,
    maintenance: context.maintenance,
    degraded: context.degraded,
  }),
});
