import type { BoundThread, NativeContext, TranscriptRow, TranscriptView, TurnIntent } from '../ports.ts';
import { promptKey } from '../transcript/mirror.ts';
import type { NativeTurn } from './native-turn.ts';
import { type AttemptRecord, historyOf, sessionIdOf } from './record.ts';
import { tellRows } from './row-events.ts';
import { branchHash, compactedThread, engineIdentity, rememberThread } from './thread-plan.ts';
import { passWriteHooks, writeHooksBudget } from './write-hooks.ts';

/** The prompt row: the user's words as they are, without anything that engine or hooks put around them (BL-18). */
export function promptRowOf(record: AttemptRecord): TranscriptRow {
  const idempotencyKey = promptKey(record.params.attemptId);
  return {
    idempotencyKey,
    message: {
      role: 'user',
      content: [{ type: 'text', text: record.params.prompt }],
      timestamp: record.startedAt,
      idempotencyKey,
    },
  };
}

/**
 * The prompt row as `before_message_write` hooks let it be written; null: they do not. They are asked the first time
 * only, so that whoever writes the row writes the same. Never rejects.
 */
export function promptRowToWrite(record: AttemptRecord, state: string): Promise<TranscriptRow | null> {
  record.slots.promptRow ??= passWriteHooks(
    record,
    state,
    [promptRowOf(record)],
    record.controller.signal,
    writeHooksBudget(record),
  ).then(([row]) => row ?? null);
  return record.slots.promptRow;
}

/**
 * `turn/started` was seen: the thread is on disk and this turn is its own. Binding, prompt row and journal are written;
 * each failure is told and made up for later (`mirroring` writes the prompt row, the next attempt starts a thread).
 */
export async function onTurnStarted(record: AttemptRecord, turn: NativeTurn): Promise<void> {
  const { session } = record.services;
  if (record.machine().stop !== 'abort') {
    try {
      await writeBinding(record, turn.threadId, historyOf(record).view);
    } catch (error) {
      turn.degrade('session_write_failed', error);
    }
  }
  try {
    const row = await promptRowToWrite(record, 'turning');
    if (row !== null) {
      const appended = await session.transcript.append([row]);
      if (appended[0] !== undefined) record.slots.promptEntryId = appended[0].entry.entryId;
      tellRows(record, [row], appended);
    }
  } catch (error) {
    turn.degrade('session_write_failed', error);
  }
  try {
    await writeIntent(record, turn.threadId, turn.turnId);
  } catch (error) {
    turn.degrade('session_write_failed', error);
  }
}

/**
 * The thread that runs this turn, with what it has been given. `seen`: the rows that it knows of. `turn`: what
 * the turn has done to it; absent: nothing yet.
 */
export async function writeBinding(
  record: AttemptRecord,
  threadId: string,
  seen: TranscriptView,
  turn: { compacted: boolean; context: NativeContext | null } = { compacted: false, context: null },
): Promise<void> {
  const { params, services, slots } = record;
  const engine = services.engine;
  const before = slots.binding?.threads.find((thread) => thread.threadId === threadId);
  // A turn that reported nothing leaves the thread as full as it was, at least.
  const context = turn.context ?? (turn.compacted ? undefined : before?.context);
  const thread: BoundThread = {
    threadId,
    toolFingerprint: slots.tools?.fingerprint ?? '',
    engine: engine === null ? null : engineIdentity(engine, params),
    epoch: slots.plan?.epoch ?? null,
    ...(before?.contextLost === true ? { contextLost: true } : {}),
    instructionsHash: slots.thread?.instructionsHash ?? null,
    seenEntryId: seen.leafId,
    ...(seen.leafId === null ? {} : { seenHash: branchHash(seen.entries) }),
  };
  const kept = {
    ...(turn.compacted ? compactedThread(thread) : thread),
    ...(context === undefined ? {} : { context }),
  };
  const remembered = rememberThread(slots.binding ?? null, params.realm, kept);
  const binding = { ...remembered, sessionId: sessionIdOf(record) };
  await services.session.bindings.write(binding);
  slots.binding = binding;
}

/** The next attempt does not use this thread any more. */
export async function forgetThread(record: AttemptRecord, threadId: string): Promise<void> {
  const { binding } = record.slots;
  if (binding === null || binding === undefined) return;
  const left = { ...binding, threads: binding.threads.filter((thread) => thread.threadId !== threadId) };
  await record.services.session.bindings.write(left);
  record.slots.binding = left;
}

/**
 * The journal's intent: written before `turn/start`, again with the turn's id, and again with `accepted` before the rows
 * of a completed turn are, so that a crash before its commit is queued does not lose it.
 */
export async function writeIntent(
  record: AttemptRecord,
  threadId: string,
  turnId: string | null,
  accepted?: TurnIntent['accepted'],
): Promise<void> {
  await record.services.session.journal.write({
    version: 1,
    attemptId: record.params.attemptId,
    sessionId: sessionIdOf(record),
    threadId,
    turnId,
    promptRow: promptRowOf(record),
    realm: record.params.realm,
    ...(accepted === undefined ? {} : { accepted }),
  });
}
