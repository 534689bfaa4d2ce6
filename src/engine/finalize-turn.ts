import { AttemptError } from '../errors.ts';
import type { OutboxStore } from '../ports.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { callEngine } from './call-engine.ts';
import type { ContextEngine, TurnOutcome } from './contract.ts';
import { conversationOf } from './hidden-messages.ts';
import { sessionKeyOf } from './host-params.ts';
import { isActiveEngine, isDurableEngine } from './legacy.ts';
import {
  callBaseOf,
  type EngineSessionParams,
  type MaintenanceOutcome,
  type RunMaintenance,
  shownError,
} from './maintenance.ts';
import { type AcceptedTurn, enqueueAndCommit } from './outbox.ts';

export interface FinalizeTurnParams extends Omit<EngineSessionParams, 'sessionId'> {
  /** What ended the native turn badly; false, null and undefined: nothing did. */
  promptError: unknown;
  aborted: boolean;
  /** A tool asked to yield. */
  yieldAborted: boolean;
  sessionIdUsed: string;
  /** The mirror after the turn; if that could not be had, history and the turn's own rows (spec M1). */
  messagesSnapshot: readonly AgentMessage[];
  /** Rows of the snapshot from before this turn (spec M5). */
  prePromptMessageCount: number;
  tokenBudget: number;
  isHeartbeat?: boolean | undefined;
  /** What a durable engine's commit needs: the turn with its anchors, and the outbox. */
  commit?: { turn: AcceptedTurn; store: OutboxStore; suspended?: boolean } | undefined;
  /** Why there is no `commit`, when that is known. */
  noCommit?: string | undefined;
  /** Hosts without a machine pass it; then a good turn is maintained here (spec L7). */
  runMaintenance?: RunMaintenance | undefined;
}

export type FinalizeMethod = 'commitTurn' | 'afterTurn' | 'ingestBatch' | 'ingest' | 'none';

export interface FinalizeTurnResult {
  method: FinalizeMethod;
  ok: boolean;
  /** A commit that failed and waits in the outbox. */
  queued?: boolean;
  reason?: 'no-engine' | 'not-accepted';
  error?: AttemptError;
  maintenance?: MaintenanceOutcome;
}

/**
 * Tells the engine what happened, by exactly one method (spec step 10, D1): `commitTurn` for durable engines, else
 * `afterTurn`, else `ingestBatch` of the new rows, else `ingest` of each. A durable engine hears of accepted turns only;
 * the others also of failed, aborted and yielded ones, marked by `runtimeContext.turnOutcome` (spec M4).
 *
 * A failure warns and is returned; the promise never rejects. Nothing written for a turn that ended well is a failure.
 */
export async function finalizeHarnessContextEngineTurn(params: FinalizeTurnParams): Promise<FinalizeTurnResult> {
  const engine = params.contextEngine;
  if (!isActiveEngine(engine)) return { method: 'none', ok: true, reason: 'no-engine' };
  const outcome = outcomeOf(params);
  if (isDurableEngine(engine) && outcome !== 'completed') return { method: 'none', ok: true, reason: 'not-accepted' };
  const session = sessionOf(params, outcome);
  const result = isDurableEngine(engine) ? await commit(engine, params, session) : await write(engine, params, session);
  if (result.error !== undefined) {
    params.warn(`context engine ${result.method} failed: ${result.error.message}`, { answered: true });
  }
  if (params.runMaintenance === undefined || !result.ok || outcome !== 'completed') return result;
  return { ...result, maintenance: await params.runMaintenance({ ...session, reason: 'turn' }) };
}

function outcomeOf({ aborted, yieldAborted, promptError }: FinalizeTurnParams): TurnOutcome {
  if (aborted) return 'aborted';
  if (yieldAborted) return 'yielded';
  return promptError === undefined || promptError === null || promptError === false ? 'completed' : 'failed';
}

function sessionOf(params: FinalizeTurnParams, turnOutcome: TurnOutcome): EngineSessionParams {
  const { runtimeContext, sessionIdUsed } = params;
  return {
    contextEngine: params.contextEngine,
    sessionId: sessionIdUsed,
    sessionKey: params.sessionKey,
    sessionFile: params.sessionFile,
    sessionTarget: params.sessionTarget,
    sessionManager: params.sessionManager,
    runtimeSettings: params.runtimeSettings,
    runtimeContext: runtimeContext === undefined ? undefined : { ...runtimeContext, turnOutcome },
    signal: params.signal,
    warn: params.warn,
    redact: params.redact,
  };
}

async function commit(
  engine: ContextEngine,
  params: FinalizeTurnParams,
  session: EngineSessionParams,
): Promise<FinalizeTurnResult> {
  const { warn, redact, signal, isHeartbeat } = params;
  if (params.commit === undefined) {
    const why = params.noCommit === undefined ? '' : `: ${params.noCommit}`;
    const said = `the turn was accepted but has no anchors to commit it by${why}`;
    const error = new AttemptError('finalize_failed', said);
    return { method: 'commitTurn', ok: false, error };
  }
  const { sessionTarget, runtimeContext, runtimeSettings } = callBaseOf(session);
  const committed = await enqueueAndCommit({
    engine,
    turn: params.commit.turn,
    store: params.commit.store,
    suspended: params.commit.suspended,
    sessionId: session.sessionId,
    sessionKey: sessionKeyOf(session),
    live: {
      ...(sessionTarget === undefined ? {} : { sessionTarget }),
      ...(runtimeContext === undefined ? {} : { runtimeContext }),
      ...(runtimeSettings === undefined ? {} : { runtimeSettings }),
    },
    isHeartbeat,
    signal,
    warn,
    redact,
  });
  if (committed.ok) return { method: 'commitTurn', ok: true };
  const { queued, error } = committed;
  return { method: 'commitTurn', ok: false, ...(queued ? { queued } : {}), error };
}

async function write(
  engine: ContextEngine,
  params: FinalizeTurnParams,
  session: EngineSessionParams,
): Promise<FinalizeTurnResult> {
  const base = callBaseOf(session);
  const conversation = conversationOf(params.messagesSnapshot, params.prePromptMessageCount);
  const added = conversation.messages.slice(conversation.prePromptMessageCount);
  const isHeartbeat = params.isHeartbeat ?? false;
  const { warn, redact, signal } = params;
  const call = (method: 'afterTurn' | 'ingestBatch' | 'ingest', own: object): Promise<unknown> =>
    callEngine({ engine, method, params: { ...base, ...own, isHeartbeat }, signal, warn, redact });

  if (typeof engine.afterTurn === 'function') {
    return settle('afterTurn', session, [
      () => call('afterTurn', { ...conversation, tokenBudget: params.tokenBudget }),
    ]);
  }
  const method = typeof engine.ingestBatch === 'function' ? 'ingestBatch' : 'ingest';
  if (added.length === 0) {
    const error = new AttemptError('finalize_failed', 'the turn left no row that the engine could ingest');
    return { method, ok: false, error };
  }
  const calls =
    method === 'ingestBatch'
      ? [() => call(method, { messages: added })]
      : added.map((message) => () => call(method, { message }));
  return settle(method, session, calls);
}

/** Makes the calls one after the other. One that fails does not stop the rest; the first failure is reported. */
async function settle(
  method: FinalizeMethod,
  session: EngineSessionParams,
  calls: readonly (() => Promise<unknown>)[],
): Promise<FinalizeTurnResult> {
  let error: AttemptError | undefined;
  for (const call of calls) {
    try {
      await call();
    } catch (caught) {
      error ??= shownError(caught, session);
    }
  }
  return error === undefined ? { method, ok: true } : { method, ok: false, error };
}
