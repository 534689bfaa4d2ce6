/**
 * The transcript of one session file (spec 6): takes the session for this process, reads it, appends to it.
 */
import { createHash } from 'node:crypto';
import { AttemptError, messageOf } from '../errors.ts';
import type {
  AppendedRow,
  Clock,
  Logger,
  OpenedTranscript,
  Transcript,
  TranscriptRow,
  TranscriptView,
} from '../ports.ts';
import { errorCode, type SessionFs, statOrNull } from './fs.ts';
import { acquireLock, type HeldLock } from './lock.ts';
import type { AgentMessage } from './messages.ts';
import { entryView, messageOfEntry, sameContent, viewOf } from './row-view.ts';
import { aborted, createSerial, untilAborted } from './serial.ts';
import { type NewLine, SessionFile } from './session-file.ts';
import type { IndexedEntry, SessionIndex } from './session-index.ts';
import { sessionNotices } from './session-notices.ts';
import { SideFolder, sidePaths } from './side-folder.ts';

/** The version of pi's session files that we write. */
const SESSION_FILE_VERSION = 3;

/** How often a folder may vanish under us (another process that has just let go clears it away) before we give up. */
const LOCK_TRIES = 5;

export interface SessionTranscriptOptions {
  /** Absolute; as the caller named it. */
  sessionFile: string;
  /** Where it lies: `realSessionFile` of it. Lock and side folder are beside that. */
  realFile: string;
  realm: string;
  /** Goes into the header of a new file. */
  cwd: string;
  clock: Clock;
  fs: SessionFs;
  logger?: Logger | undefined;
  newId: () => string;
  /** Called by `open` once the session is ours. `isNew`: its file is absent or empty. */
  prepare: (isNew: boolean) => Promise<PreparedSession>;
}

/** What the side files say at `open`. */
export interface PreparedSession {
  /** The id that a new session was given before a crash kept its file from being made; null: none. */
  sessionId: string | null;
  notices: readonly string[];
}

/** A transcript whose session can be given another id. */
export interface SessionTranscript extends Transcript {
  /**
   * Writes another id into the header of the file, which must be there and have one; every other byte stays. False: it has
   * that id already. Rejects with
   * AttemptError `session_not_found`, `session_invalid`, `session_write_failed`, and then nothing has changed.
   */
  rename(sessionId: string): Promise<boolean>;
}

/** The transcript port over a session file. All calls are carried out one after the other. */
export function createSessionTranscript(options: SessionTranscriptOptions): SessionTranscript {
  const { sessionFile, realFile, fs, clock, logger, newId } = options;
  const serial = createSerial();
  const file = new SessionFile({ path: realFile, fs, logger });
  const side = sidePaths(realFile, options.realm);
  const folder = new SideFolder(side.folder, fs);
  /** Rows of another writer that stand for a row of ours, by our key. */
  const adopted = new Map<string, string>();
  let lock: HeldLock | null = null;
  let newSessionId: string | null = null;
  let closes = 0;

  async function open(isGivenUp: () => boolean): Promise<OpenedTranscript> {
    // Looked at first without a trace: a path that is no session's is left as it is.
    await file.refresh();
    if (isGivenUp()) throw aborted();
    lock ??= await takeLock();
    try {
      await file.refresh();
      const prepared = await options.prepare(file.index.size === 0);
      if (isGivenUp()) throw aborted();
      newSessionId = prepared.sessionId ?? newSessionId;
      return {
        existed: file.exists,
        sessionId: sessionId(),
        notices: [...sessionNotices(sessionFile, file.index, options.realm), ...prepared.notices],
      };
    } catch (error) {
      await letGo();
      throw error;
    }
  }

  async function takeLock(): Promise<HeldLock> {
    for (let tries = 1; ; tries += 1) {
      try {
        await folder.ensure();
        return await acquireLock({ path: side.lock, fs, clock, logger });
      } catch (error) {
        if (errorCode(error) === 'ENOENT' && tries < LOCK_TRIES) continue;
        await folder.removeIfUnused();
        throw error instanceof AttemptError ? error : await lockFailed(fs, side.folder, error);
      }
    }
  }

  async function letGo(): Promise<void> {
    const held = lock;
    lock = null;
    await held?.release();
    await folder.removeIfUnused();
  }

  function sessionId(): string {
    const { index } = file;
    if (index.sessionId !== null) return index.sessionId;
    if (index.firstLine !== null) return identityOf(index.firstLine);
    newSessionId ??= newId();
    return newSessionId;
  }

  async function append(rows: readonly TranscriptRow[]): Promise<readonly AppendedRow[]> {
    if (lock === null) {
      throw new AttemptError('session_write_failed', `The session ${sessionFile} is not open: nothing was written.`);
    }
    await file.refresh();
    const { lines, created } = newLines(rows);
    if (lines.length > 0) await file.append(lines, header());
    const { index } = file;
    return rows.map(({ idempotencyKey: key }) => {
      const isCreated = created.delete(key);
      return { created: isCreated, entry: entryView(index, stored(index, key)) };
    });
  }

  function newLines(rows: readonly TranscriptRow[]): { lines: NewLine[]; created: Set<string> } {
    const lines: NewLine[] = [];
    const created = new Set<string>();
    let parentId = file.index.leaf?.id ?? null;
    for (const { idempotencyKey: key, message, original } of rows) {
      if (created.has(key) || find(file.index, key) !== undefined) continue;
      const twin = lines.length === 0 ? unkeyedTwin(file.index, [message, original ?? message]) : undefined;
      if (twin !== undefined) {
        adopted.set(key, twin.viewId);
        continue;
      }
      const line = {
        id: newId(),
        parentId,
        createdAt: new Date(clock.now()).toISOString(),
        message: { ...message, idempotencyKey: key },
      };
      lines.push(line);
      created.add(key);
      parentId = line.id;
    }
    return { lines, created };
  }

  async function rename(id: string): Promise<boolean> {
    if (lock === null) {
      throw new AttemptError('session_write_failed', `The session ${sessionFile} is not open: it keeps its id.`);
    }
    await file.refresh();
    if (file.index.sessionId === id) return false;
    await file.rename(id);
    return true;
  }

  function header(): object {
    const timestamp = new Date(clock.now()).toISOString();
    return { type: 'session', version: SESSION_FILE_VERSION, id: sessionId(), timestamp, cwd: options.cwd };
  }

  function find(index: SessionIndex, key: string): IndexedEntry | undefined {
    const twin = adopted.get(key);
    return index.byKey(key) ?? (twin === undefined ? undefined : index.byViewId(twin));
  }

  function stored(index: SessionIndex, key: string): IndexedEntry {
    const entry = find(index, key);
    if (entry === undefined)
      throw new AttemptError('internal', `The row ${key} is not in the file that it was written to.`);
    return entry;
  }

  return {
    sessionFile,
    open(signal) {
      const before = closes;
      const isGivenUp = () => signal.aborted || closes !== before;
      return untilAborted(() => serial(() => (isGivenUp() ? Promise.reject(aborted()) : open(isGivenUp))), signal);
    },
    read: (signal) =>
      untilAborted(
        () =>
          serial(async (): Promise<TranscriptView> => {
            await file.refresh();
            return viewOf(file.index);
          }),
        signal,
      ),
    append: (rows, signal) => untilAborted(() => serial(() => append(rows)), signal),
    rename: (id) => serial(() => rename(id)),
    close() {
      closes += 1;
      return serial(letGo);
    },
  };
}

/**
 * The row that another writer has put down for the same prompt (BL-31): the last row of the branch, a user's, without
 * a key, with the content of one of these messages. A row that was answered since is an earlier turn's.
 */
function unkeyedTwin(index: SessionIndex, messages: readonly AgentMessage[]): IndexedEntry | undefined {
  if (messages.some((message) => message.role !== 'user')) return undefined;
  const last = index.branch().at(-1);
  if (last === undefined) return undefined;
  const row = messageOfEntry(last);
  if (row.role !== 'user' || row.idempotencyKey !== undefined) return undefined;
  return messages.some((message) => sameContent(row, message)) ? last : undefined;
}

/** A stable id for a session file without one: the same file is the same session in every run. */
function identityOf(firstLine: string): string {
  return `session-${createHash('sha256').update(firstLine).digest('hex').slice(0, 32)}`;
}

async function lockFailed(fs: SessionFs, path: string, cause: unknown): Promise<AttemptError> {
  const reason = errorCode(cause) ?? null;
  const data = { path, reason };
  const facts = await statOrNull(fs, path).catch(() => null);
  if (facts !== null && facts.kind !== 'folder') {
    return new AttemptError(
      'session_unreadable',
      `The session cannot be used: ${path} is not a folder, and its side folder belongs there. Move it away, or name another session file.`,
      { cause, data },
    );
  }
  const isFull = reason === 'ENOSPC' || reason === 'EDQUOT';
  return new AttemptError(
    isFull ? 'session_write_failed' : 'session_unreadable',
    `The session cannot be used, its side folder ${path} cannot be written: ${messageOf(cause)}. ` +
      `${isFull ? 'Make room there, or name' : 'Name'} a file in a folder that can be written (--session FILE); new sessions go where CODEX_ATTEMPT_HOME says.`,
    { cause, data },
  );
}
