/**
 * A session that goes on elsewhere: under another id in the same file, or in another file that is there already.
 */
import { resolve } from 'node:path';
import { AttemptError } from '../errors.ts';
import type { AdoptedSession, SessionStore, SessionSuccessor } from '../ports.ts';
import { type SessionFs, statOrNull } from './fs.ts';
import { realSessionFile } from './real-path.ts';

/** What adoption works with: the session as it is, and the way to another one. */
export interface AdoptionParts {
  realFile: string;
  fs: SessionFs;
  store: SessionStore;
  /** Writes another id into the header of the present file. False: it has that id already. */
  rename(sessionId: string): Promise<boolean>;
  /** The store of another file, in the same realm. */
  openOther(sessionFile: string): SessionStore;
}

/** See `SessionStore.adopt`. */
export async function adoptSuccessor(
  parts: AdoptionParts,
  { sessionId, sessionFile }: SessionSuccessor,
  signal: AbortSignal,
): Promise<AdoptedSession | null> {
  const place = sessionFile === undefined ? parts.realFile : realSessionFile(resolve(sessionFile));
  if (place !== parts.realFile) return await moveTo(parts, place, sessionId, signal);
  if (sessionId === undefined || !(await parts.rename(sessionId))) return null;
  return { store: parts.store, opened: { existed: true, sessionId, notices: [] } };
}

/** The new session is taken before the old one is given back; whatever goes wrong leaves the old one as it was. */
async function moveTo(
  { fs, store, openOther }: AdoptionParts,
  place: string,
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<AdoptedSession> {
  if ((await statOrNull(fs, place)) === null) {
    throw new AttemptError(
      'session_not_found',
      `The engine names ${place} as the session's successor, but it is not there.`,
    );
  }
  const next = openOther(place);
  try {
    const opened = await next.transcript.open(signal);
    if (sessionId !== undefined && opened.sessionId !== sessionId) {
      const message = `The engine names ${place} as the session ${sessionId}, but that file is ${opened.sessionId}.`;
      throw new AttemptError('session_invalid', message);
    }
    // Turns that the engine is owed come along, in their order; a turn that is under way goes on in the new place.
    const all = await store.outbox.list();
    for (const owed of all) await next.outbox.add(owed);
    for (const { advancementKey } of all) await store.outbox.remove(advancementKey);
    await store.journal.clear();
    await store.transcript.close();
    return { store: next, opened };
  } catch (error) {
    await next.transcript.close();
    throw error;
  }
}
