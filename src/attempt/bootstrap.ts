import type { OpenOutput } from '../../machines/attempt-types.ts';
import {
  bootstrapHarnessContextEngine,
  runHarnessContextEngineMaintenance,
} from '../engine/context-engine-lifecycle.ts';
import type { ContextEngine } from '../engine/contract.ts';
import { isDurableEngine } from '../engine/legacy.ts';
import { drainOutbox } from '../engine/outbox.ts';
import { AttemptError } from '../errors.ts';
import type { OpenedTranscript } from '../ports.ts';
import { readMirroredSessionHistoryMessages } from '../transcript/mirror.ts';
import { engineLogFields, engineSession, tracedEngineCall } from './engine-call.ts';
import { type AttemptRecord, type HistorySlot, sessionIdOf } from './record.ts';
import { serveTranscript } from './transcript-reader.ts';

/** `bootstrap.opening`: the session is taken; nothing is written. */
export async function open(record: AttemptRecord, signal: AbortSignal): Promise<OpenOutput> {
  const { session, logger } = record.services;
  const opened = await session.transcript.open(signal);
  record.slots.opened = opened;
  if (record.services.engine !== null) record.slots.endServing = serveTranscript(record);
  const notice = (message: string): void => {
    logger.warn('session notice', { attemptId: record.params.attemptId, notice: message });
    record.emit({ type: 'attempt.notice', message });
  };
  opened.notices.forEach(notice);
  contractNotices(record.services.engine).forEach(notice);
  const binding = await session.bindings.read();
  const isOurRealm = binding !== null && binding.realm === record.params.realm;
  record.slots.binding = isOurRealm && !isForeign(binding, opened) ? binding : null;
  if (isOurRealm && isForeign(binding, opened)) notice(OTHER_CONVERSATION);
  const intent = await session.journal.read();
  record.slots.intent = intent !== null && !isForeign(intent, opened) ? intent : null;
  if (intent !== null && isForeign(intent, opened)) notice(OTHER_TURN);
  signal.throwIfAborted();
  record.emit({
    type: 'attempt.started',
    attemptId: record.params.attemptId,
    sessionFile: session.transcript.sessionFile,
    sessionId: opened.sessionId,
  });
  return {
    hadSessionFile: opened.existed,
    bound: (record.slots.binding?.threads.length ?? 0) > 0,
    journalOpen: record.slots.intent !== null,
  };
}

const OTHER_CONVERSATION =
  'the session file is another conversation than the one its thread belongs to: a new thread is started';
const OTHER_TURN =
  'the session file is another conversation than the one in which a turn broke off: that turn is left out of it';

/** Whether a side file was written for another session: one file was put in the place of another (spec T2). */
function isForeign(kept: { sessionId?: string }, opened: OpenedTranscript): boolean {
  return kept.sessionId !== undefined && kept.sessionId !== opened.sessionId;
}

/** Half of the durable contract is none: the engine is finalized by its other methods, and its author should know. */
function contractNotices(engine: ContextEngine | null): string[] {
  if (engine === null || isDurableEngine(engine)) return [];
  const { transcriptSemantics, id } = engine.info;
  const commits = typeof engine.commitTurn === 'function';
  if (transcriptSemantics === undefined && !commits) return [];
  const lack = commits ? 'does not declare both transcript semantics' : 'has no commitTurn()';
  return [`context engine "${id}" ${lack}: its turns are not committed durably`];
}

/**
 * `bootstrap.draining`: background maintenance of the last turn is waited for (spec D4), then every accepted turn that
 * a durable engine has not taken is committed, in order (spec D3). A rejection suspends the engine for this attempt.
 */
export async function drain(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const { engine, session, lane, clock } = record.services;
  if (engine === null) return;
  const { bootstrap } = record.params.budgets;
  if (!(await lane.idle(bootstrap, clock))) {
    throw new AttemptError('engine_suspended', 'background maintenance of an earlier turn is still running');
  }
  if (!isDurableEngine(engine)) return;
  const { warn, redact, sessionTarget, runtimeContext, runtimeSettings } = engineSession(record, signal);
  await drainOutbox({
    store: session.outbox,
    sessionId: sessionIdOf(record),
    engine,
    live: {
      ...(sessionTarget === undefined ? {} : { sessionTarget }),
      ...(runtimeContext === undefined ? {} : { runtimeContext }),
      ...(runtimeSettings === undefined ? {} : { runtimeSettings }),
    },
    signal,
    warn,
    redact,
  });
}

/** `bootstrap.reading`: the leaf of this read is the fence (spec D2). */
export async function read(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  record.slots.history = await readHistory(record, signal);
}

/** `bootstrap.engine` (spec L2). */
export async function bootstrapEngine(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const { logger } = record.services;
  const fields = engineLogFields(record);
  logger.debug('codex context engine bootstrap started', fields);
  const answer = await tracedEngineCall(record, 'bootstrap', () =>
    bootstrapHarnessContextEngine({
      ...engineSession(record, signal),
      hadSessionFile: record.slots.opened?.existed === true,
    }),
  );
  if (!answer.ok) {
    logger.debug('codex context engine bootstrap failed', fields);
    throw answer.error;
  }
  logger.debug('codex context engine bootstrap completed', fields);
}

/** `bootstrap.maintenance` (spec 2.3). */
export async function bootstrapMaintenance(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const answer = await tracedEngineCall(record, 'maintain', () =>
    runHarnessContextEngineMaintenance({ ...engineSession(record, signal), reason: 'bootstrap' }),
  );
  if (!answer.ok) throw answer.error;
}

/** `bootstrap.rereading`: the engine may have rewritten the transcript (spec 2.3). */
export async function reread(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  record.slots.history = await readHistory(record, signal);
}

async function readHistory(record: AttemptRecord, signal: AbortSignal): Promise<HistorySlot> {
  const view = await record.services.session.transcript.read(signal);
  return { view, messages: readMirroredSessionHistoryMessages(view) };
}
