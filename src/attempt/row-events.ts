import type { AppendedRow, TranscriptRow } from '../ports.ts';
import type { AttemptRecord } from './record.ts';

/**
 * Tells the listeners of rows that are new in the session, in order. `appended` is what the store said of `rows`: the
 * write is over by then. Rows that were there already are not told, and nothing is told once the attempt is over.
 */
export function tellRows(
  record: AttemptRecord,
  rows: readonly TranscriptRow[],
  appended: readonly AppendedRow[],
): void {
  if (record.controller.signal.aborted) return;
  const { sessionFile } = record.services.session.transcript;
  for (const [index, { idempotencyKey }] of rows.entries()) {
    const one = appended[index];
    if (one?.created !== true) continue;
    const seq = (record.slots.rowsTold ?? 0) + 1;
    record.slots.rowsTold = seq;
    const { entryId, message } = one.entry;
    record.emit({ type: 'attempt.row', sessionFile, entryId, idempotencyKey, role: message.role, seq });
  }
}
