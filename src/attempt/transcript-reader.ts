import { isDurableEngine } from '../engine/legacy.ts';
import { setTranscriptReader } from '../engine/sdk-bridge/index.ts';
import type { TranscriptEntry } from '../ports.ts';
import { type AttemptRecord, sessionIdOf, sessionKeyOf } from './record.ts';

/**
 * Serves the session to engines that read it through the SDK, behind the fence (spec D2): until the turn is handed to
 * the engine, nothing from the admitted prompt row on is seen. Returns the way to take it back.
 */
export function serveTranscript(record: AttemptRecord): () => void {
  const { transcript } = record.services.session;
  return setTranscriptReader({ sessionId: sessionIdOf(record), sessionKey: sessionKeyOf(record) }, async () => {
    const { entries } = await transcript.read(new AbortController().signal);
    const admitted = entries.findIndex((entry) => entry.entryId === record.slots.promptEntryId);
    const visible = admitted === -1 || isFenceDown(record) ? entries : entries.slice(0, admitted);
    return visible.map(visibleEntry);
  });
}

/** A durable engine gets the turn by its commit alone; the others may read it while they are finalized. */
function isFenceDown(record: AttemptRecord): boolean {
  const { engine } = record.services;
  if (engine !== null && isDurableEngine(engine)) return record.slots.finalization?.ok === true;
  return record.slots.mirrored !== undefined;
}

function visibleEntry({ entryId, parentId, position, createdAt, message }: TranscriptEntry) {
  return {
    entryId,
    parentId,
    seq: position,
    message,
    role: message.role,
    createdAt,
    ...(message.idempotencyKey === undefined ? {} : { idempotencyKey: message.idempotencyKey }),
  };
}
