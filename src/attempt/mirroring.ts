import { isDurableEngine } from '../engine/legacy.ts';
import { AttemptError, messageOf } from '../errors.ts';
import type { TranscriptRow, TranscriptView } from '../ports.ts';
import { mirrorTranscriptBestEffort } from '../transcript/mirror.ts';
import { tellEnd } from './agent-end.ts';
import { type AttemptRecord, bounded, degrade } from './record.ts';
import { tellRows } from './row-events.ts';
import { endOf } from './turn-end.ts';
import { forgetThread, promptRowOf, promptRowToWrite, writeBinding, writeIntent } from './turn-started.ts';
import { passWriteHooks, writeHooksBudget } from './write-hooks.ts';

/**
 * `mirroring` (spec 2.9, M1-M4): the turn's rows are written as hooks let them, and the session re-read for the
 * finalizer. Whatever comes of the write, the hooks are told, and then a failure is thrown so that the machine writes it
 * down.
 */
export async function mirror(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const made = rowsOf(record);
  record.slots.mirrored = { ok: false, rows: made, entryIds: [], blocked: null, view: null };
  const passed = await passRows(record, made, signal);
  const rows = passed.filter((row) => row !== null);
  const blocked = passed[0] === null ? 'prompt' : passed.at(-1) === null ? 'terminal' : null;
  record.slots.mirrored = { ok: false, rows, entryIds: [], blocked, view: null };
  if (blocked === null) await oweCommit(record, signal);
  const written = await mirrorTranscriptBestEffort({ transcript: record.services.session.transcript, rows, signal });
  let failure: unknown = written.ok ? null : written.error;
  if (written.ok) {
    const entryIds = written.appended.map((row) => row.entry.entryId);
    // Written after all, but too late: the session may be another's by now, and nobody listens any more.
    record.controller.signal.throwIfAborted();
    if (entryIds[0] !== undefined) record.slots.promptEntryId = entryIds[0];
    tellRows(record, rows, written.appended);
    signal.throwIfAborted();
    // What is there already stands, whatever would be written now.
    const stored = rows.map((row, index) => ({
      ...row,
      message: written.appended[index]?.entry.message ?? row.message,
    }));
    record.slots.mirrored = { ok: false, rows: stored, entryIds, blocked, view: null };
    try {
      const view = await record.services.session.transcript.read(signal);
      signal.throwIfAborted();
      record.slots.mirrored = { ok: true, rows: stored, entryIds, blocked, view };
      await keepBinding(record, view);
    } catch (error) {
      // The rows are there, but the session could not be read again: the finalizer gets history and turn (spec M1).
      failure = error;
    }
  }
  await tellEnd(record, signal);
  if (failure !== null) throw new AttemptError('mirror_failed', messageOf(failure), { cause: failure });
}

/** A durable engine gets an accepted turn even if this process dies between its rows and its commit (spec D3). */
async function oweCommit(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const { engine, clock } = record.services;
  const { turn } = record.slots;
  if (engine === null || !isDurableEngine(engine) || turn === undefined || record.machine().outcome !== 'completed')
    return;
  const accepted = { engineId: engine.info.id, isHeartbeat: record.params.isHeartbeat };
  const { mirror: budget, graceMirror } = record.params.budgets;
  // A journal that hangs must leave time for the rows.
  const ms = record.machine().stop === 'abort' ? graceMirror / 4 : budget / 4;
  const late = () => new AttemptError('session_write_failed', `the journal was not written within ${ms} ms`);
  try {
    await bounded(writeIntent(record, turn.threadId, turn.turnId, accepted), { clock, ms, signal, error: late });
  } catch (error) {
    degrade(record, 'mirroring', 'session_write_failed', error);
  }
}

/** The prompt row was shown to the hooks when the turn began, the others are now; null stands for a row they block. */
async function passRows(record: AttemptRecord, rows: readonly TranscriptRow[], signal: AbortSignal) {
  if (rows.length === 0) return [];
  const { clock } = record.services;
  const from = clock.now();
  const prompt = await promptRowToWrite(record, 'mirroring');
  const left = Math.max(0, writeHooksBudget(record) - (clock.now() - from));
  return [prompt, ...(await passWriteHooks(record, 'mirroring', rows.slice(1), signal, left))];
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
async function keepBinding(record: AttemptRecord, seen: TranscriptView): Promise<void> {
  const { turn, binding } = record.slots;
  if (turn === undefined) return;
  const { threadId } = turn;
  if (binding?.threads.some((bound) => bound.threadId === threadId) !== true) return;
  try {
    // A picture in the thread's own history that the model cannot read would fail every later turn on it (BL-48).
    if (record.machine().cause?.code === 'invalid_image') return await forgetThread(record, threadId);
    const { compacted, projector } = turn;
    await writeBinding(record, threadId, seen, { compacted, context: projector.usage.context });
  } catch (error) {
    degrade(record, 'mirroring', 'session_write_failed', error);
  }
}
