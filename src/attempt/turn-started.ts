import type { TranscriptRow } from '../ports.ts';
import { promptKey } from '../transcript/mirror.ts';
import type { NativeTurn } from './native-turn.ts';
import { type AttemptRecord, historyOf } from './record.ts';
import { engineIdentity, rememberThread } from './thread-plan.ts';

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
 * `turn/started` was seen: the thread is on disk and this turn is its own. Binding, prompt row and journal are written;
 * each failure is told and made up for later (`mirroring` writes the prompt row, the next attempt starts a thread).
 */
export async function onTurnStarted(record: AttemptRecord, turn: NativeTurn): Promise<void> {
  const { session } = record.services;
  if (record.machine().stop !== 'abort') {
    try {
      await writeBinding(record, turn.threadId, historyOf(record).view.leafId);
    } catch (error) {
      turn.degrade('session_write_failed', error);
    }
  }
  try {
    const [row] = await session.transcript.append([promptRowOf(record)]);
    if (row !== undefined) record.slots.promptEntryId = row.entry.entryId;
  } catch (error) {
    turn.degrade('session_write_failed', error);
  }
  try {
    await writeIntent(record, turn.threadId, turn.turnId);
  } catch (error) {
    turn.degrade('session_write_failed', error);
  }
}

/** The thread that runs this turn, with what it has been given. `seenEntryId`: the last row that it knows of. */
export async function writeBinding(
  record: AttemptRecord,
  threadId: string,
  seenEntryId: string | null,
  options: { instructionsKnown?: boolean } = {},
): Promise<void> {
  const { params, services, slots } = record;
  const engine = services.engine;
  const binding = rememberThread(slots.binding ?? null, params.realm, {
    threadId,
    toolFingerprint: slots.tools?.fingerprint ?? '',
    engine: engine === null ? null : engineIdentity(engine, params),
    epoch: slots.plan?.epoch ?? null,
    instructionsHash: options.instructionsKnown === false ? null : (slots.thread?.instructionsHash ?? null),
    seenEntryId,
  });
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

/** The journal's intent, written before `turn/start` and again with the turn's id. */
export async function writeIntent(record: AttemptRecord, threadId: string, turnId: string | null): Promise<void> {
  await record.services.session.journal.write({
    version: 1,
    attemptId: record.params.attemptId,
    threadId,
    turnId,
    promptRow: promptRowOf(record),
    realm: record.params.realm,
  });
}
