/**
 * A small JSON file of the side folder: replaced as a whole, set aside when it makes no sense.
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
  /**
   * Null when the file is absent, or makes no sense: that one is renamed to `<name>.bad`, with a warning.
   * Rejects with AttemptError `session_unreadable`.
   */
  read(): Promise<T | null>;
  /** Rejects with AttemptError `session_write_failed`; then the old value is still there. */
  write(value: T): Promise<void>;
  /** Removes the file; an absent one is fine. Rejects with AttemptError `session_write_failed`. */
  clear(): Promise<void>;
}

/** The file at `path`, mode 0600, its folder made when needed (0700). */
export function jsonFile<T>(options: JsonFileOptions<T>): JsonFile<T> {
  const { path, fs } = options;
  return {
    read: () => readJsonFile(options),
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

async function readJsonFile<T>(options: JsonFileOptions<T>): Promise<T | null> {
  const { path, fs, parse, logger } = options;
  try {
    if ((await statOrNull(fs, path)) === null) return null;
    const value = parse(parseJson((await readBytes(fs, path)).toString('utf8')));
    if (value !== null) return value;
    await fs.rename(path, `${path}.bad`);
    logger?.warn('session side file: not understood, set aside', { file: `${path}.bad` });
    return null;
  } catch (error) {
    throw sideFileFailed('session_unreadable', path, error);
  }
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
