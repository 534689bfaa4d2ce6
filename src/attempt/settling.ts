import { whyNotMaintained } from '../../machines/attempt-updates.ts';
import type { AttemptOutcome, AttemptOutput, MaintenanceReport } from '../../machines/index.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { tellEnd } from './agent-end.ts';
import { compactionReport } from './compaction-report.ts';
import { engineLogFields } from './engine-call.ts';
import { type AttemptRecord, bounded, degrade, sessionIdOf } from './record.ts';
import type { StateWatch } from './state-watch.ts';
import { endOf } from './turn-end.ts';
import type { AttemptFault, AttemptResult, FinalizationReport } from './types.ts';

/**
 * The machine is in a final state: the last hook is told, what is still under way is ended, the session is given back,
 * and the result is made. Nothing of the attempt is running afterwards but background maintenance (spec D4).
 */
export async function settle(
  record: AttemptRecord,
  outcome: AttemptOutcome,
  output: AttemptOutput,
  states: StateWatch,
): Promise<AttemptResult> {
  states.stop();
  record.slots.early?.off();
  await tellEnd(record, never(), outcome);
  record.controller.abort();
  endServing(record);
  await endLooseWork(record, outcome);
  await giveBack(record);
  const result = resultOf(record, outcome, output, states.visited);
  logMaintenance(record, result.maintenance);
  record.services.trace.emit({
    type: 'attempt.settled',
    outcome,
    states: result.states,
    threadId: result.threadId,
    turnId: result.turnId,
    usage: result.usage,
    finalization: result.finalization,
    maintenance: result.maintenance,
    ...(result.error === undefined ? {} : { code: result.error.code }),
  });
  record.emit(result);
  return result;
}

/** The session is closed. A store that fails or hangs in it costs a warning. */
async function giveBack(record: AttemptRecord): Promise<void> {
  const { services, params } = record;
  try {
    await bounded(services.session.transcript.close(), {
      clock: services.clock,
      ms: params.budgets.graceFinalize,
      signal: never(),
      error: () => new AttemptError('internal', 'the session was not closed in time'),
    });
  } catch (error) {
    services.logger.warn('the session was not given back', {
      attemptId: params.attemptId,
      error: redact(messageOf(error)),
    });
  }
}

/** A signal for what ends by its time only. */
const never = (): AbortSignal => new AbortController().signal;

/** The engine may read the session until its background maintenance is done. */
function endServing(record: AttemptRecord): void {
  const { endServing: end } = record.slots;
  if (end === undefined) return;
  const { lane, clock } = record.services;
  lane.idle(Number.POSITIVE_INFINITY, clock).then(end, end);
}

/** Work that was begun beside the states: a process being retired, a late write. Bounded by two graces. */
async function endLooseWork(record: AttemptRecord, outcome: AttemptOutcome): Promise<void> {
  const { budgets } = record.params;
  try {
    await bounded(Promise.all(record.loose), {
      clock: record.services.clock,
      ms: budgets.graceInterrupt + budgets.graceFinalize,
      signal: never(),
      error: () => new AttemptError('internal', 'work of the attempt was still under way at its end'),
    });
  } catch (error) {
    degrade(record, outcome, 'internal', error);
  }
}

function resultOf(
  record: AttemptRecord,
  outcome: AttemptOutcome,
  output: AttemptOutput,
  visited: readonly string[],
): AttemptResult {
  const { params, services, slots } = record;
  const error = faultOf(outcome, output);
  const compaction = compactionReport(record);
  return {
    type: 'attempt.settled',
    attemptId: params.attemptId,
    outcome,
    states: visited,
    text: slots.turn?.projector.snapshot(endOf(record)).text ?? '',
    sessionFile: services.session.transcript.sessionFile,
    sessionId: sessionIdOf(record),
    threadId: slots.turn?.threadId ?? slots.thread?.threadId ?? null,
    turnId: slots.turn?.turnId ?? null,
    usage: slots.turn?.projector.usage.turn ?? null,
    degraded: [...output.degraded, ...record.degraded].map((step) => ({ ...step, message: redact(step.message) })),
    finalization: finalizationOf(record, output),
    maintenance: output.maintenance ?? whyNotMaintained({ ...record.machine(), outcome }),
    replaySafe: slots.turn?.projector.replaySafe ?? true,
    deniedApprovals: slots.turn?.deniedApprovals ?? [],
    ...(compaction === undefined ? {} : { compaction }),
    ...(error === undefined ? {} : { error }),
  };
}

function faultOf(outcome: AttemptOutcome, output: AttemptOutput): AttemptFault | undefined {
  if (outcome !== 'failed') return undefined;
  const { code, message } = output.cause ?? { code: 'internal', message: 'the attempt failed without a cause' };
  return { code, message: redact(message) };
}

/** What the finalizer came to; when its budget ran out, what the machine knows of it. */
function finalizationOf(record: AttemptRecord, output: AttemptOutput): FinalizationReport {
  const { finalization } = record.slots;
  if (output.finalization === 'failed' && finalization?.reason === undefined) {
    const step = output.degraded.findLast((entry) => entry.state === 'finalizing');
    return { ...(finalization ?? { method: 'none' }), ok: false, reason: step?.code ?? 'finalize_failed' };
  }
  if (finalization !== undefined) return finalization;
  return { method: 'none', ok: true, reason: record.services.engine === null ? 'no-engine' : 'not-accepted' };
}

function logMaintenance(record: AttemptRecord, maintenance: MaintenanceReport): void {
  const { engine, logger } = record.services;
  if (engine === null || maintenance.ran) return;
  logger.debug('codex context engine maintenance skipped', {
    ...engineLogFields(record),
    reason: maintenance.reason,
  });
}
