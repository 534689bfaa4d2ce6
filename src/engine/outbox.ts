import { AttemptError, isAttemptError, messageOf } from '../errors.ts';
import type { OutboxRecord, OutboxStore } from '../ports.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { callEngine, type EngineVoice, redacted } from './call-engine.ts';
import type { CommitTurnParams, ContextEngine, EngineCallBase } from './contract.ts';
import { checkCommitResult } from './result-checks.ts';

/** Parameters that are made anew for each try and are no part of the frozen payload. */
export type LiveCommitParams = Pick<EngineCallBase, 'sessionTarget' | 'runtimeContext' | 'runtimeSettings'>;

export interface DrainParams extends EngineVoice {
  store: OutboxStore;
  /** The session that the queue lies beside. */
  sessionId: string;
  engine: ContextEngine;
  live: LiveCommitParams;
  signal?: AbortSignal | undefined;
}

/**
 * Hands the queued turns of this engine to it, oldest first, and takes each off the queue once the engine has it
 * (spec D3). A turn that the engine has already counts as done: that is how a crash between the two heals.
 *
 * Stops at the first failure and rejects (AttemptError `engine_failed`, `engine_bad_result`, `aborted`): a turn that is
 * skipped is never repaired by an engine, one that comes late is stored twice. Turns queued for another engine are
 * theirs: they stay, with a warning. So do turns of another session, whose file this one has replaced: their rows are
 * not here for an engine to look up.
 */
export async function drainOutbox(params: DrainParams): Promise<{ committed: number }> {
  const { store, engine, live, signal } = params;
  const records = await store.list();
  const forEngine = records.filter((record) => record.engineId === engine.info.id);
  if (forEngine.length < records.length) {
    const rest = records.filter((record) => !forEngine.includes(record));
    const others = [...new Set(rest.map((record) => record.engineId))];
    params.warn(`${rest.length} turn(s) wait for another context engine: ${others.join(', ')}`);
  }
  const own = forEngine.filter((record) => (record.payload['sessionId'] ?? params.sessionId) === params.sessionId);
  if (own.length < forEngine.length) {
    params.warn(
      `${forEngine.length - own.length} turn(s) are queued of another conversation than the session file holds: not committed`,
    );
  }
  for (const record of own) {
    const answer = await callEngine({
      engine,
      method: 'commitTurn',
      params: { ...record.payload, ...live },
      signal,
      warn: params.warn,
      redact: params.redact,
    });
    checkCommitResult(answer, engine.info.id);
    await store.remove(record.advancementKey);
  }
  return { committed: own.length };
}

/** An accepted turn of a durable engine. */
export interface AcceptedTurn {
  /** Unique over all sessions and all time: made from the attempt's id. An engine's ledger is not per session. */
  advancementKey: string;
  admission: CommitTurnParams['admission'];
  terminal: CommitTurnParams['terminal'];
  /** Exactly the rows from the admitted user row to the accepted terminal row. */
  messages: readonly AgentMessage[];
}

export interface EnqueueParams extends DrainParams {
  turn: AcceptedTurn;
  sessionKey: string;
  isHeartbeat?: boolean | undefined;
  /** The engine is suspended for this attempt: queue only. */
  suspended?: boolean | undefined;
}

export type CommitOutcome = { ok: true } | { ok: false; queued: boolean; error: AttemptError };

/**
 * Queues an accepted turn, its payload frozen as JSON from here on, and hands everything queued to the engine at once.
 * `queued: true` in a failure: the turn is safe and goes out before the next bootstrap. Never rejects.
 */
export async function enqueueAndCommit(params: EnqueueParams): Promise<CommitOutcome> {
  let queued = false;
  try {
    await params.store.add(recordOf(params));
    queued = true;
    if (params.suspended === true) {
      return {
        ok: false,
        queued,
        error: new AttemptError(
          'engine_suspended',
          `context engine "${params.engine.info.id}" is suspended: the turn waits behind earlier ones`,
          { data: { engineId: params.engine.info.id } },
        ),
      };
    }
    await drainOutbox(params);
    return { ok: true };
  } catch (error) {
    return {
      ok: false,
      queued,
      error: isAttemptError(error)
        ? error
        : new AttemptError('finalize_failed', `the turn's outbox failed: ${redacted(params, messageOf(error))}`),
    };
  }
}

function recordOf({ turn, engine, sessionId, sessionKey, isHeartbeat }: EnqueueParams): OutboxRecord {
  const span = turn.terminal.activeMessagePosition - turn.admission.activeMessagePosition + 1;
  if (turn.messages.length !== span) {
    throw new AttemptError(
      'finalize_failed',
      `the accepted turn has ${turn.messages.length} row(s), its anchors span ${span}: not handed to the engine`,
      { data: { engineId: engine.info.id, rows: turn.messages.length, span } },
    );
  }
  const payload = { ...turn, sessionId, sessionKey, isHeartbeat: isHeartbeat ?? false };
  // Through JSON, because that is what a retry after a restart will read back: both tries send the same.
  const frozen = JSON.parse(JSON.stringify(payload)) as Readonly<Record<string, unknown>>;
  return { advancementKey: turn.advancementKey, engineId: engine.info.id, payload: frozen };
}
