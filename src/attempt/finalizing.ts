import type { AttemptOutcome, FinalizeOutput } from '../../machines/attempt-types.ts';
import { finalizeHarnessContextEngineTurn } from '../engine/context-engine-lifecycle.ts';
import type { ContextEngine } from '../engine/contract.ts';
import type { FinalizeTurnResult } from '../engine/finalize-turn.ts';
import { isDurableEngine } from '../engine/legacy.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { readMirroredSessionHistoryMessages } from '../transcript/mirror.ts';
import { acceptedTurnOf } from './accepted-turn.ts';
import { engineLogFields, engineSession, tracedEngineCall } from './engine-call.ts';
import { type AttemptRecord, degrade, historyOf, keepTrack, type MirrorSlot } from './record.ts';
import type { FinalizationReport, FinalizerMethod } from './types.ts';

/**
 * `finalizing` (spec 2.10, D1, D3): exactly one finalizer tells the engine what happened, from the re-read session or,
 * after a failed mirror, from history and the turn's own rows (spec M1, M2). Then the journal is closed: everything
 * that a crash could lose is on disk or handed over.
 */
export async function finalize(record: AttemptRecord, signal: AbortSignal): Promise<FinalizeOutput> {
  const { engine, logger, session } = record.services;
  const { outcome, cause } = record.machine();
  const mirrored = record.slots.mirrored ?? { ok: false, rows: [], entryIds: [], blocked: null, view: null };
  const history = historyOf(record);
  if (engine !== null && !mirrored.ok) {
    logger.warn('mirror failed: the context engine ingests from fallback turn data', engineLogFields(record));
  }

  // Until there is an answer: what the engine was asked; the reason is that of the machine.
  record.slots.finalization = { method: finalizerOf(engine, outcome), ok: false };
  // An engine that is suspended for this attempt still has its turn queued (spec D3).
  const suspended = engine !== null && record.machine().engine === null;
  const call = tracedEngineCall(record, 'finalize', () =>
    finalizeHarnessContextEngineTurn({
      ...engineSession(record, signal),
      contextEngine: engine,
      sessionIdUsed: record.slots.opened?.sessionId ?? '',
      promptError: outcome === 'failed' ? (cause?.message ?? 'the turn failed') : null,
      aborted: outcome === 'aborted',
      yieldAborted: outcome === 'yielded',
      messagesSnapshot: snapshotOf(record, mirrored),
      prePromptMessageCount: history.messages.length,
      tokenBudget: record.params.tokenBudget,
      isHeartbeat: record.params.isHeartbeat,
      ...commitOf(record, mirrored, suspended),
    }),
  );
  // A call that is given up is over soon after: the end of the attempt waits to hear whether a commit is queued.
  keepTrack(record, call);
  const answer = await call;
  if (engine !== null && answer.method !== 'none') {
    const fields = { ...engineLogFields(record), method: answer.method };
    logger.debug(`codex context engine finalize ${answer.ok ? 'completed' : 'failed'}`, fields);
  }
  if (signal.aborted) {
    // Given up by its budget, whatever the answer says.
    const queued = answer.queued === undefined ? {} : { queued: answer.queued };
    record.slots.finalization = { method: answer.method, ok: false, ...queued };
    return { ok: false, code: 'budget_finalize', message: 'the finalizer ran out of time' };
  }
  record.slots.finalization = report(answer, mirrored);
  // Beside the state: what the engine was told does not hang on it, and the attempt waits for it at its end.
  const closed = session.journal.clear();
  keepTrack(
    record,
    closed.catch((error: unknown) => degrade(record, 'finalizing', 'session_write_failed', error)),
  );
  return answer.ok
    ? { ok: true }
    : { ok: false, code: answer.error?.code ?? 'finalize_failed', message: answer.error?.message ?? 'not finalized' };
}

/** Which finalizer this engine takes (spec 2.10, D1). */
function finalizerOf(engine: ContextEngine | null, outcome: AttemptOutcome | null): FinalizerMethod {
  if (engine === null) return 'none';
  if (isDurableEngine(engine)) return outcome === 'completed' ? 'commitTurn' : 'none';
  if (typeof engine.afterTurn === 'function') return 'afterTurn';
  return typeof engine.ingestBatch === 'function' ? 'ingestBatch' : 'ingest';
}

/** The whole session as re-read; if that was not possible, history and the turn's own rows, never a stale file. */
function snapshotOf(record: AttemptRecord, mirrored: MirrorSlot): AgentMessage[] {
  if (mirrored.view !== null) return readMirroredSessionHistoryMessages(mirrored.view);
  return [...historyOf(record).messages, ...mirrored.rows.map((row) => row.message)];
}

/** A turn of which an end is kept out of the session has no anchor there. */
function commitOf(record: AttemptRecord, mirrored: MirrorSlot, suspended: boolean) {
  const { engine, session } = record.services;
  if (engine === null || !isDurableEngine(engine)) return {};
  if (mirrored.blocked !== null) {
    return { noCommit: `a before_message_write hook kept the ${ROW_NAMES[mirrored.blocked]} out of the session` };
  }
  if (mirrored.view === null) return {};
  const own = new Set(mirrored.entryIds);
  const turn = acceptedTurnOf(record, record.params.attemptId, mirrored.view, ({ entryId }) => own.has(entryId));
  return turn === null ? {} : { commit: { turn, store: session.outbox, suspended } };
}

const ROW_NAMES = { prompt: 'prompt row', terminal: 'last row of the turn' } as const;

function report(answer: FinalizeTurnResult, { blocked }: MirrorSlot): FinalizationReport {
  const isBlocked = answer.method === 'commitTurn' && blocked !== null;
  const reason = isBlocked ? `${blocked}-row-blocked` : (answer.reason ?? answer.error?.code);
  return {
    method: answer.method,
    ok: answer.ok,
    ...(answer.queued === undefined ? {} : { queued: answer.queued }),
    ...(reason === undefined ? {} : { reason }),
  };
}
