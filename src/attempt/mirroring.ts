import { AttemptError, messageOf } from '../errors.ts';
import type { TranscriptRow } from '../ports.ts';
import { mirrorTranscriptBestEffort } from '../transcript/mirror.ts';
import { tellEnd } from './agent-end.ts';
import { type AttemptRecord, degrade } from './record.ts';
import { endOf } from './turn-end.ts';
import { forgetThread, promptRowOf, writeBinding } from './turn-started.ts';

/**
 * `mirroring` (spec 2.9, M1-M4): the turn's rows are written, and the session re-read for the finalizer. Whatever comes
 * of the write, the hooks are told, and then a failure is thrown so that the machine writes it down.
 */
export async function mirror(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const rows = rowsOf(record);
  record.slots.mirrored = { ok: false, rows, entryIds: [], view: null };
  const written = await mirrorTranscriptBestEffort({ transcript: record.services.session.transcript, rows, signal });
  let failure: unknown = written.ok ? null : written.error;
  if (written.ok) {
    const entryIds = written.appended.map((row) => row.entry.entryId);
    if (entryIds[0] !== undefined) record.slots.promptEntryId = entryIds[0];
    try {
      const view = await record.services.session.transcript.read(signal);
      record.slots.mirrored = { ok: true, rows, entryIds, view };
      await keepBinding(record, view.leafId);
    } catch (error) {
      // The rows are there, but the session could not be read again: the finalizer gets history and turn (spec M1).
      failure = error;
    }
  }
  await tellEnd(record, signal);
  if (failure !== null) throw new AttemptError('mirror_failed', messageOf(failure), { cause: failure });
}

/** The rows of this turn: the prompt, always, then what the turn made. An attempt that had no turn has none. */
export function rowsOf(record: AttemptRecord): TranscriptRow[] {
  const { turn } = record.slots;
  if (turn === undefined) return [];
  const { rows } = turn.projector.snapshot(endOf(record), record.machine().cause?.message);
  // As the store will keep them: a fallback from these rows shows an engine the same keys.
  const keyed = rows.map((row) => ({ ...row, message: { ...row.message, idempotencyKey: row.idempotencyKey } }));
  return [promptRowOf(record), ...keyed];
}

/** The bound thread has now seen everything up to the turn's last row. A failure costs the note, not the mirror. */
async function keepBinding(record: AttemptRecord, leafId: string | null): Promise<void> {
  const { turn, binding } = record.slots;
  const threadId = turn?.threadId;
  if (threadId === undefined || binding?.threads.some((bound) => bound.threadId === threadId) !== true) return;
  try {
    // A picture in the thread's own history that the model cannot read would fail every later turn on it (BL-48).
    if (record.machine().cause?.code === 'invalid_image') return await forgetThread(record, threadId);
    // A native compaction drops injected instructions: they have to be given again (design 3).
    await writeBinding(record, threadId, leafId, { instructionsKnown: turn?.compacted !== true });
  } catch (error) {
    degrade(record, 'mirroring', 'session_write_failed', error);
  }
}
