import type { TranscriptAnchor } from '../engine/contract.ts';
import type { AcceptedTurn } from '../engine/outbox.ts';
import type { TranscriptEntry, TranscriptView } from '../ports.ts';
import { type AttemptRecord, sessionTargetOf } from './record.ts';

/**
 * An accepted turn as a durable engine takes it (spec D1): the rows from the admitted user row to the terminal one, with
 * their anchors. `isOwn` says which rows are the turn's. Null when its ends are not in the session.
 */
export function acceptedTurnOf(
  record: AttemptRecord,
  attemptId: string,
  view: TranscriptView,
  isOwn: (entry: TranscriptEntry) => boolean,
): AcceptedTurn | null {
  const own = view.entries.filter(isOwn);
  const admitted = own[0];
  const terminal = own.at(-1);
  if (admitted === undefined || terminal === undefined || admitted.message.role !== 'user') return null;
  return {
    // An engine's ledger may hold many sessions; an attempt's id is unique over all of them.
    advancementKey: `codex-attempt:${attemptId}`,
    admission: { ...anchorOf(record, admitted), logicalTurnId: attemptId, role: 'user' },
    terminal: anchorOf(record, terminal),
    messages: view.entries.slice(admitted.position, terminal.position + 1).map((entry) => entry.message),
  };
}

function anchorOf(record: AttemptRecord, entry: TranscriptEntry): TranscriptAnchor {
  const { agentId, sessionId, sessionKey, storePath } = sessionTargetOf(record);
  return {
    entryId: entry.entryId,
    activeMessagePosition: entry.position,
    agentId,
    sessionId,
    sessionKey,
    storePath,
    generation: sessionId,
    rawSeq: entry.position,
    effectiveParentId: entry.parentId,
  };
}
