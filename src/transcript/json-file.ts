/**
 * A small JSON file of the side folder: replaced as a whole, set aside by the session's owner when it makes no sense.
 */
import { dirname } from 'node:path';
import { AttemptError, messageOf } from '../errors.ts';
import type { Logger } from '../ports.ts';
import { writeFileAtomic } from './atomic-write.ts';
import { errorCode, readBytes, type SessionFs, statOrNull } from './fs.ts';

export interface JsonFileOptions<T> {
  path: string;
  fs: SessionFs;
  /** The value in the parsed text, or null when it is not one. Must not throw. */
  parse: (value: unknown) => T | null;
  logger?: Logger | undefined;
}

export interface JsonFile<T> {
  /** Null when the file is absent, or makes no sense. Writes nothing. Rejects with AttemptError `session_unreadable`. */
  read(): Promise<T | null>;
  /**
   * Renames a file that makes no sense to `<name>.bad`, with a warning. Resolves with its new path; null: there was none.
   * Only for who holds the lock. Rejects with AttemptError `session_unreadable`.
   */
  setAside(): Promise<string | null>;
  /** Rejects with AttemptError `session_write_failed`; then the old value is still there. */
  write(value: T): Promise<void>;
  /** Removes the file; an absent one is fine. Rejects with AttemptError `session_write_failed`. */
  clear(): Promise<void>;
}

/** The file at `path`, mode 0600, its folder made when needed (0700). */
export function jsonFile<T>(options: JsonFileOptions<T>): JsonFile<T> {
  const { path, fs } = options;
  return {
    async read() {
      try {
        return (await look(options)).value;
      } catch (error) {
        throw sideFileFailed('session_unreadable', path, error);
      }
    },
    async setAside() {
      const bad = `${path}.bad`;
      try {
        if (!(await look(options)).isBad) return null;
        await fs.rename(path, bad);
      } catch (error) {
        throw sideFileFailed('session_unreadable', path, error);
      }
      options.logger?.warn('session side file: not understood, set aside', { file: bad });
      return bad;
    },
    async write(value) {
      try {
        await fs.mkdir(dirname(path));
        await writeFileAtomic(fs, path, `${JSON.stringify(value)}\n`);
      } catch (error) {
        throw sideFileFailed('session_write_failed', path, error);
      }
    },
    async clear() {
      try {
        await fs.remove(path);
      } catch (error) {
        throw sideFileFailed('session_write_failed', path, error);
      }
    },
  };
}

async function look<T>({ path, fs, parse }: JsonFileOptions<T>): Promise<{ value: T | null; isBad: boolean }> {
  if ((await statOrNull(fs, path)) === null) return { value: null, isBad: false };
  const value = parse(parseJson((await readBytes(fs, path)).toString('utf8')));
  return { value, isBad: value === null };
}

/** Undefined when the text is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The error of a side file that could not be read or written. */
export function sideFileFailed(
  code: 'session_unreadable' | 'session_write_failed',
  path: string,
  cause: unknown,
): AttemptError {
  const verb = code === 'session_unreadable' ? 'read' : 'written';
  return new AttemptError(code, `${path} cannot be ${verb}: ${messageOf(cause)}`, {
    cause,
    data: { path, reason: errorCode(cause) ?? null },
  });
}
