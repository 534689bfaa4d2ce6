/**
 * One session file on disk: read once, followed when others write to it, appended to with everything or nothing.
 * Callers see to it that its methods do not overlap.
 */
import { AttemptError, messageOf } from '../errors.ts';
import type { Logger } from '../ports.ts';
import { createFileAtomic, writeFileAtomic } from './atomic-write.ts';
import {
  errorCode,
  type FileFacts,
  readBytes,
  type SessionFileHandle,
  type SessionFs,
  statOrNull,
  writeAll,
} from './fs.ts';
import type { AgentMessage } from './messages.ts';
import { SessionIndex } from './session-index.ts';

/** A line to be added: the entry as pi's JSONL v3 writes it. */
export interface NewLine {
  id: string;
  parentId: string | null;
  createdAt: string;
  message: AgentMessage;
}

export interface SessionFileOptions {
  path: string;
  fs: SessionFs;
  logger?: Logger | undefined;
}

/** Differs from every real file, so that the next `refresh` looks again. */
const UNKNOWN_FACTS: FileFacts = { kind: 'file', size: -1, mtimeMs: -1, ino: -1 };

export class SessionFile {
  readonly path: string;
  readonly #fs: SessionFs;
  readonly #logger: Logger | undefined;
  #index = new SessionIndex();
  /** The file as it was when the index was last in step with it; null: it was absent. */
  #facts: FileFacts | null = null;

  constructor(options: SessionFileOptions) {
    this.path = options.path;
    this.#fs = options.fs;
    this.#logger = options.logger;
  }

  /** What is known since the last `refresh` or `append`. */
  get index(): SessionIndex {
    return this.#index;
  }

  /** Whether the file was there at the last `refresh` or `append`. */
  get exists(): boolean {
    return this.#facts !== null;
  }

  /**
   * Brings the index in step with the disk: reads nothing when nothing changed, the tail when the file grew, else all.
   * Rejects with AttemptError `session_not_a_file`, `session_unreadable`, `session_invalid`; then nothing is known.
   */
  async refresh(): Promise<void> {
    try {
      const facts = await statOrNull(this.#fs, this.path);
      if (facts !== null && facts.kind !== 'file') throw notAFile(this.path, facts.kind);
      if (facts === null || this.#facts === null || !sameState(facts, this.#facts)) await this.#follow(facts);
      if (facts !== null && this.#index.size > 0 && !this.#index.isSession) throw invalid(this.path);
    } catch (error) {
      this.#forget();
      throw error instanceof AttemptError ? error : unreadable(this.path, error);
    }
  }

  /**
   * Adds lines with one write, behind `header` when the file is absent or empty. All or none: when it fails, the file
   * is as long as before. Rejects with AttemptError `session_write_failed`.
   */
  async append(lines: readonly NewLine[], header: object): Promise<void> {
    try {
      const text = lines.map((line) => `${serialize(line)}\n`).join('');
      if (!this.exists) {
        const whole = `${JSON.stringify(header)}\n${text}`;
        if (await createFileAtomic(this.#fs, this.path, whole)) return await this.#record(Buffer.from(whole, 'utf8'));
        throw new Error('another program has just made this file; the next try adds to it');
      }
      await this.#extend(this.#index.size === 0 ? `${JSON.stringify(header)}\n${text}` : text);
    } catch (error) {
      this.#forget();
      throw writeFailed(this.path, error);
    }
  }

  /**
   * Puts another id into the header line; every other byte stays. A row that another writer appends in this moment is lost.
   * Rejects with AttemptError `session_not_found`,
   * `session_invalid` when there is no header, `session_write_failed`; then nothing has changed.
   */
  async rename(sessionId: string): Promise<void> {
    if (!this.exists) throw new AttemptError('session_not_found', `There is no session ${this.path}.`);
    try {
      const bytes = await readBytes(this.#fs, this.path);
      const end = bytes.includes(0x0a) ? bytes.indexOf(0x0a) : bytes.length;
      const header = this.#index.sessionId === null ? null : (JSON.parse(bytes.toString('utf8', 0, end)) as object);
      if (header === null) throw new AttemptError('session_invalid', `${this.path} has no header that holds an id.`);
      const renamed = Buffer.from(JSON.stringify({ ...header, id: sessionId }));
      await writeFileAtomic(this.#fs, this.path, Buffer.concat([renamed, bytes.subarray(end)]));
      await this.refresh();
    } catch (error) {
      this.#forget();
      throw error instanceof AttemptError ? error : writeFailed(this.path, error);
    }
  }

  async #follow(facts: FileFacts | null): Promise<void> {
    const known = this.#facts;
    this.#facts = facts;
    if (facts === null) {
      this.#index = new SessionIndex();
      return;
    }
    const hasGrown = known !== null && facts.ino === known.ino && facts.size > this.#index.size;
    if (hasGrown && this.#index.remainder === 'none' && (await this.#readTail())) return;
    const bytes = await readBytes(this.#fs, this.path);
    this.#index = new SessionIndex();
    this.#index.add(bytes);
  }

  /** Reads what was added; false when the part before it is no longer what it was. */
  async #readTail(): Promise<boolean> {
    const check = this.#index.lastBytes;
    const bytes = await readBytes(this.#fs, this.path, this.#index.size - check.length);
    if (!bytes.subarray(0, check.length).equals(check)) return false;
    this.#index.add(bytes.subarray(check.length));
    return true;
  }

  async #extend(text: string): Promise<void> {
    const { remainder, goodEnd, size } = this.#index;
    const bytes = Buffer.from(text, 'utf8');
    const handle = await this.#fs.open(this.path, 'append');
    const oldSize = remainder === 'torn' ? goodEnd : size;
    try {
      if (remainder === 'torn') {
        await handle.truncate(goodEnd);
        this.#logger?.warn('session file: a torn last line was cut off', { bytes: size - goodEnd });
      }
      await writeAll(handle, remainder === 'good' ? Buffer.concat([Buffer.from('\n'), bytes]) : bytes);
      await handle.sync();
    } catch (error) {
      await this.#rollBack(() => handle.truncate(oldSize), error);
      throw error;
    } finally {
      await this.#closeQuietly(handle);
    }
    this.#index.endRemainder();
    await this.#record(bytes);
  }

  async #rollBack(truncate: () => Promise<void>, cause: unknown): Promise<void> {
    try {
      await truncate();
    } catch (error) {
      // What is left is a torn line or whole rows under their keys: both are dealt with by the next append.
      this.#logger?.error('session file: a failed write could not be taken back', {
        cause: messageOf(cause),
        error: messageOf(error),
      });
    }
  }

  /** The bytes are synced or taken back by now, so that a failure here decides nothing. */
  async #closeQuietly(handle: SessionFileHandle): Promise<void> {
    try {
      await handle.close();
    } catch (error) {
      this.#logger?.warn('session file: closing failed', { error: messageOf(error) });
    }
  }

  async #record(bytes: Buffer): Promise<void> {
    this.#index.add(bytes);
    const facts = await this.#fs.stat(this.path).catch(() => UNKNOWN_FACTS);
    // A size that is not the expected one means that somebody else wrote too: the next refresh looks again.
    this.#facts = facts.size === this.#index.size ? facts : { ...facts, mtimeMs: -1 };
  }

  #forget(): void {
    this.#index = new SessionIndex();
    this.#facts = null;
  }
}

function serialize(line: NewLine): string {
  const { id, parentId, createdAt, message } = line;
  return JSON.stringify({ type: 'message', id, parentId, timestamp: createdAt, message });
}

function sameState(one: FileFacts, other: FileFacts): boolean {
  return one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs;
}

function notAFile(path: string, kind: FileFacts['kind']): AttemptError {
  const what = kind === 'folder' ? 'a folder' : 'not a regular file';
  return new AttemptError('session_not_a_file', `The session path ${path} is ${what}. Name a file.`, {
    data: { path },
  });
}

function invalid(path: string): AttemptError {
  return new AttemptError(
    'session_invalid',
    `${path} is not a session file: it has no session header and no message. Name another file; this one was not touched.`,
    { data: { path } },
  );
}

function unreadable(path: string, cause: unknown): AttemptError {
  return new AttemptError('session_unreadable', `The session file ${path} cannot be read: ${messageOf(cause)}`, {
    cause,
    data: { path, reason: errorCode(cause) ?? null },
  });
}

function writeFailed(path: string, cause: unknown): AttemptError {
  return new AttemptError(
    'session_write_failed',
    `The session file ${path} could not be written: ${messageOf(cause)}`,
    {
      cause,
      data: { path, reason: errorCode(cause) ?? null },
    },
  );
}
