/**
 * Ending a session on disk (spec T2): `reset` begins the conversation afresh and keeps the old file under another
 * name, deletion keeps nothing. Telling the engine is the caller's.
 */
import { basename, join, resolve } from 'node:path';
import { AttemptError, messageOf } from '../errors.ts';
import type { Clock, Logger } from '../ports.ts';
import { errorCode, nodeSessionFs, type SessionFs, statOrNull } from './fs.ts';
import { realSessionFile } from './real-path.ts';
import { createSessionTranscript } from './session-transcript.ts';
import { sidePaths } from './side-folder.ts';

export interface EndSessionOptions {
  sessionFile: string;
  clock: Clock;
  /** Default: the real file system. */
  fs?: SessionFs;
  /** Default: silent. */
  logger?: Logger;
}

/** What was ended. `removed`: absolute paths of the side files and folders that are gone. */
export interface EndedSession {
  sessionFile: string;
  sessionId: string;
  removed: readonly string[];
}

/**
 * Takes away bindings of both realms, journal, outbox and everything else in the side folder, then renames the session
 * file to `<file>.reset-<time>`. A link stays, and leads to where the next session is made. Rejects with AttemptError `session_not_found`, `session_busy`, `session_not_a_file`,
 * `session_unreadable`, `session_invalid`, and then nothing has changed; `session_write_failed`.
 */
export function resetSessionFiles(options: EndSessionOptions): Promise<EndedSession & { archivedTo: string }> {
  return endSession(options, async (fs, sessionFile) => {
    const archivedTo = await freeName(fs, `${sessionFile}.reset-${safeTime(options.clock)}`);
    await fs.rename(sessionFile, archivedTo);
    return { archivedTo };
  });
}

/** Takes away the side folder and the session file. Rejects as `resetSessionFiles`. */
export function deleteSessionFiles(options: EndSessionOptions): Promise<EndedSession> {
  return endSession(options, async (fs, sessionFile) => {
    await fs.unlink(sessionFile);
    return {};
  });
}

async function endSession<T extends object>(
  options: EndSessionOptions,
  endFile: (fs: SessionFs, sessionFile: string) => Promise<T>,
): Promise<EndedSession & T> {
  const { clock, logger, fs = nodeSessionFs } = options;
  const sessionFile = resolve(options.sessionFile);
  const realFile = realSessionFile(sessionFile);
  const transcript = createSessionTranscript({
    sessionFile,
    realFile,
    realm: '',
    cwd: '',
    clock,
    fs,
    logger,
    newId: () => '',
    prepare: async () => {
      // Gone since we looked.
      if ((await statOrNull(fs, realFile)) === null) throw notFound(sessionFile);
      return { sessionId: null, notices: [] };
    },
  });
  // Any other trouble with the path is for `open` to name.
  const isAbsent = await statOrNull(fs, realFile).then(
    (facts) => facts === null,
    () => false,
  );
  if (isAbsent) throw notFound(sessionFile);
  try {
    const { sessionId } = await transcript.open(new AbortController().signal);
    // The side files go first: when this breaks off, a session without a binding is left, never a binding without its session.
    const removed = await emptySideFolder(fs, realFile);
    const ended = await endFile(fs, realFile);
    await transcript.close();
    return { sessionFile, sessionId, removed, ...ended };
  } catch (error) {
    await transcript.close();
    throw error instanceof AttemptError ? error : writeFailed(realFile, error);
  }
}

/** Everything but the lock, which is let go of last. */
async function emptySideFolder(fs: SessionFs, sessionFile: string): Promise<string[]> {
  const { folder, lock } = sidePaths(sessionFile, '');
  const removed: string[] = [];
  for (const name of (await fs.readdir(folder)).sort()) {
    if (name === basename(lock)) continue;
    await fs.remove(join(folder, name));
    removed.push(join(folder, name));
  }
  return removed;
}

/** The time as it may stand in a file name everywhere. */
function safeTime(clock: Clock): string {
  return new Date(clock.now()).toISOString().replace(/[:.]/g, '-');
}

async function freeName(fs: SessionFs, name: string): Promise<string> {
  let free = name;
  for (let count = 2; (await statOrNull(fs, free)) !== null; count += 1) free = `${name}-${count}`;
  return free;
}

function notFound(path: string): AttemptError {
  return new AttemptError('session_not_found', `There is no session ${path}.`, { data: { path } });
}

function writeFailed(path: string, cause: unknown): AttemptError {
  return new AttemptError('session_write_failed', `The session ${path} could not be taken away: ${messageOf(cause)}`, {
    cause,
    data: { path, reason: errorCode(cause) ?? null },
  });
}
