/**
 * What the attempt machine remembers on its transitions. Pure and total: a throw in here would leave invoked work
 * running that nobody ends (xstate issue 5153).
 */
import type { ActorName, AttemptContext, AttemptEvent, AttemptOutputs, MaintenanceReport } from './attempt-types.ts';
import type { CompactionBudgets } from './compaction.ts';
import { faultOf, type TurnFault } from './turn.ts';

export interface UpdateArgs {
  context: AttemptContext;
  event: AttemptEvent;
}

type Update = Partial<AttemptContext>;

export function outputOf<Name extends ActorName>(event: AttemptEvent, name: Name): AttemptOutputs[Name] | undefined {
  const { type } = event as { type: string };
  return type === `xstate.done.actor.${name}` ? (event as { output: AttemptOutputs[Name] }).output : undefined;
}

export function errorOf(event: AttemptEvent): TurnFault {
  return faultOf('error' in event ? event.error : undefined, 'internal');
}

/** The cause of an `after` transition: the budget that ran out and how to set it. */
function budgetFault(name: string, milliseconds: number): TurnFault {
  return {
    code: `budget_${name}`,
    message: `the ${name} budget of ${milliseconds} ms ran out (budgets.${name})`,
  };
}

const degrade = (context: AttemptContext, state: string, fault: TurnFault): Update => ({
  degraded: [...context.degraded, { state, ...fault }],
});

export function rememberOpened({ event }: UpdateArgs): Update {
  const output = outputOf(event, 'open');
  if (output === undefined) return {};
  return {
    hadSessionFile: output.hadSessionFile,
    thread: output.bound ? 'resume' : 'start',
  };
}

export const failWithError = ({ event }: UpdateArgs): Update => ({ outcome: 'failed', cause: errorOf(event) });

export const failWithBudget =
  (name: 'store' | 'threadStart') =>
  ({ context }: UpdateArgs): Update => ({ outcome: 'failed', cause: budgetFault(name, context.budgets[name]) });

export const degradeWithError =
  (state: string) =>
  ({ context, event }: UpdateArgs): Update =>
    degrade(context, state, errorOf(event));

export const degradeWithBudget =
  (state: string, name: keyof AttemptContext['budgets']) =>
  ({ context }: UpdateArgs): Update =>
    degrade(context, state, budgetFault(name, context.budgets[name]));

/** A durable engine whose queue cannot be drained sees nothing of this attempt (spec D3). */
export const suspendEngine = (): Update => ({ engine: null });

export function rememberThread({ context, event }: UpdateArgs): Update {
  const output = outputOf(event, 'project');
  if (output === undefined) return {};
  const tried = context.freshThreadTries > 0 || context.overflowTries > 0;
  return { thread: tried ? 'start' : output.thread };
}

export const startFreshThread = ({ context }: UpdateArgs): Update => ({
  thread: 'start',
  freshThreadTries: context.freshThreadTries + 1,
});

/** Aborted is no failure: a cause left over from an overflow or a deadline goes (spec E3). */
export const endAborted = (): Update => ({ outcome: 'aborted', stop: 'abort', cause: null });

export function rememberTurn({ context, event }: UpdateArgs): Update {
  const output = outputOf(event, 'turn');
  if (output === undefined) return {};
  const cause =
    output.cause?.code === 'budget_execution' ? budgetFault('execution', context.budgets.execution) : output.cause;
  return { outcome: output.outcome, cause };
}

export function rememberOverflow({ context, event }: UpdateArgs): Update {
  const output = outputOf(event, 'turn');
  return { overflowTries: context.overflowTries + 1, cause: output?.cause ?? null };
}

/** The turn actor itself broke: a bug, not an answer. */
export const rememberTurnBug = ({ event }: UpdateArgs): Update => ({
  outcome: 'failed',
  cause: { code: 'internal', message: errorOf(event).message },
});

export const stopForAbort = (): Update => ({ stop: 'abort' });

export const stopForDeadline = ({ context }: UpdateArgs): Update => ({
  stop: 'deadline',
  cause: budgetFault('execution', context.budgets.execution),
});

/**
 * The app-server did not end the interrupted turn within the grace. The first reason to stop is what it came to: an
 * abort that follows a deadline hurries the rest along, but the turn has failed by its deadline.
 */
export const rememberUninterrupted = ({ context }: UpdateArgs): Update => ({
  outcome: context.cause === null ? 'aborted' : 'failed',
});

export function rememberFinalization({ context, event }: UpdateArgs): Update {
  const output = outputOf(event, 'finalize');
  if (output === undefined) return {};
  if (output.ok) return { finalization: 'ok' };
  const fault = { code: output.code ?? 'finalize_failed', message: output.message ?? 'the engine was not finalized' };
  return { finalization: 'failed', ...degrade(context, 'finalizing', fault) };
}

export const finalizationFailed = (args: UpdateArgs): Update => ({
  finalization: 'failed',
  ...degradeWithError('finalizing')(args),
});

export const finalizationTimedOut =
  (name: 'finalize' | 'graceFinalize') =>
  (args: UpdateArgs): Update => ({
    finalization: 'failed',
    ...degradeWithBudget('finalizing', name)(args),
  });

export function whyNotMaintained(context: AttemptContext): MaintenanceReport {
  const because = (reason: NonNullable<MaintenanceReport['reason']>): MaintenanceReport => ({ ran: false, reason });
  if (context.engine === null) return because('no-engine');
  if (context.outcome === 'failed') return because('failed-turn');
  if (context.outcome === 'aborted') return because('aborted');
  if (context.outcome === 'yielded') return because('yielded');
  if (context.stop === 'abort') return because('aborted');
  if (context.finalization !== 'ok') return because('not-finalized');
  return because('not-offered');
}

export const rememberNotMaintained = ({ context }: UpdateArgs): Update => ({ maintenance: whyNotMaintained(context) });

export function rememberMaintained({ event }: UpdateArgs): Update {
  const output = outputOf(event, 'maintain');
  return { maintenance: { ran: true, mode: output?.mode ?? 'foreground' } };
}

export const maintenanceFailed = (args: UpdateArgs): Update => ({
  maintenance: { ran: false, reason: 'error' },
  ...degradeWithError('maintaining')(args),
});

export const maintenanceTimedOut = (args: UpdateArgs): Update => ({
  maintenance: { ran: false, reason: 'budget' },
  ...degradeWithBudget('maintaining', 'maintain')(args),
});

export const maintenanceAborted = (): Update => ({ maintenance: { ran: false, reason: 'aborted' }, stop: 'abort' });

/** The budgets that a compaction bounds itself by. */
export const compactionBudgets = ({
  compact,
  maintain,
  threadStart,
  graceInterrupt,
}: AttemptContext['budgets']): CompactionBudgets => ({ compact, maintain, threadStart, graceInterrupt });

export function rememberCompaction({ context, event }: UpdateArgs): Update {
  const output = outputOf(event, 'compaction');
  if (output === undefined) return {};
  const { compaction, cause } = output;
  // After an overflow the cause stays the overflow (spec K4): why no room was made is noted beside it.
  const beside = context.request === 'turn' && cause !== null && context.stop === null ? [cause] : [];
  return {
    compaction,
    degraded: [
      ...context.degraded,
      ...[...output.degraded, ...beside].map((fault) => ({ state: 'compacting', ...fault })),
    ],
    ...(context.request === 'compact' ? { cause } : {}),
  };
}

export function compactionBroke(args: UpdateArgs): Update {
  const fault = errorOf(args.event);
  return {
    compaction: 'failed',
    ...(args.context.request === 'compact' ? { cause: fault } : degrade(args.context, 'compacting', fault)),
  };
}

/** The engine made room: the same prompt goes to a fresh thread, once. */
export const startOver = (): Update => ({ thread: 'start', cause: null, compaction: null });

export const overflowStands = (): Update => ({ outcome: 'failed' });

export const endCompleted = (): Update => ({ outcome: 'completed', cause: null });
export const endFailed = (): Update => ({ outcome: 'failed' });
