import type { CompactResult } from '../engine/contract.ts';
import { isAttemptError } from '../errors.ts';
import type { BoundThread, SessionSuccessor, ThreadBinding, TranscriptView } from '../ports.ts';
import { readMirroredSessionHistoryMessages } from '../transcript/mirror.ts';
import { type AttemptRecord, degrade, historyOf, sessionIdOf } from './record.ts';
import { branchHash } from './thread-plan.ts';
import { serveTranscript } from './transcript-reader.ts';

/**
 * An engine may carry the session on under another id or in another file when it compacts it. The attempt goes on with
 * that one, and its native threads with it. A successor that cannot be adopted costs a note, and so do threads that cannot
 * go along: the compaction stands.
 */
export async function adoptSuccessor(
  record: AttemptRecord,
  result: CompactResult['result'],
  signal: AbortSignal,
): Promise<void> {
  const successor = successorIn(record, result);
  if (successor === null) return;
  const { session } = record.services;
  if (session.adopt === undefined) {
    const message = 'the engine carries the session on elsewhere, which this host cannot follow';
    return record.emit({ type: 'attempt.notice', message });
  }
  const { binding } = record.slots;
  try {
    const adopted = await session.adopt(successor, signal);
    if (adopted === null) return;
    const { store, opened } = adopted;
    record.services.session = store;
    record.slots.opened = opened;
    // A thread that cannot be carried along is left: the next turn starts one.
    record.slots.binding = null;
    record.slots.endServing?.();
    record.slots.endServing = serveTranscript(record);
    const message = `the engine carries the session on as ${sessionIdOf(record)} in ${store.transcript.sessionFile}`;
    record.emit({ type: 'attempt.notice', message });
    const view = await store.transcript.read(signal);
    await carryBinding(record, binding, view);
    record.slots.history = { view, messages: readMirroredSessionHistoryMessages(view) };
  } catch (error) {
    degrade(record, 'compacting', isAttemptError(error) ? error.code : 'session_write_failed', error);
  }
}

/** What the engine says that is not so already. */
function successorIn(record: AttemptRecord, result: CompactResult['result']): SessionSuccessor | null {
  const { sessionId = result?.sessionTarget?.sessionId, sessionFile = result?.sessionTarget?.storePath } = result ?? {};
  const isOther = {
    id: sessionId !== undefined && sessionId !== sessionIdOf(record),
    file: sessionFile !== undefined && sessionFile !== record.services.session.transcript.sessionFile,
  };
  if (!isOther.id && !isOther.file) return null;
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(sessionFile === undefined ? {} : { sessionFile }),
  };
}

/** The threads go along. One that had seen the whole session has seen its successor, which tells the same in short. */
async function carryBinding(
  record: AttemptRecord,
  binding: ThreadBinding | null | undefined,
  { entries, leafId }: TranscriptView,
): Promise<void> {
  if (binding === null || binding === undefined) return;
  const { leafId: before } = historyOf(record).view;
  const carry = (thread: BoundThread): BoundThread => {
    if (thread.seenEntryId !== before) return thread;
    const { seenHash: _, ...rest } = thread;
    return { ...rest, seenEntryId: leafId, ...(leafId === null ? {} : { seenHash: branchHash(entries) }) };
  };
  const carried = { ...binding, sessionId: sessionIdOf(record), threads: binding.threads.map(carry) };
  await record.services.session.bindings.write(carried);
  record.slots.binding = carried;
}
