/**
 * Files that are there whole or not at all: written under another name in the same folder, synced, then put in place.
 */
import { randomUUID } from 'node:crypto';
import { errorCode, type SessionFs, writeAll } from './fs.ts';

/** Codes of file systems that know no hard links. */
const LINKLESS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Writes the text or bytes to `path`, replacing what is there. The folder must exist. Rejects with the file system's error, and then nothing has changed. */
export async function writeFileAtomic(fs: SessionFs, path: string, content: string | Uint8Array): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeNew(fs, temporary, content);
    await fs.rename(temporary, path);
  } catch (error) {
    await removeIfPossible(fs, temporary);
    throw error;
  }
}

/**
 * Writes `text` to `path` unless something is there. Resolves with whether it did: of several processes that try at
 * once exactly one gets true, and nobody ever sees half of the file.
 */
export async function createFileAtomic(fs: SessionFs, path: string, text: string): Promise<boolean> {
  const temporary = temporaryName(path);
  try {
    await writeNew(fs, temporary, text);
    await fs.link(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    if (LINKLESS.has(errorCode(error) ?? '')) return await createInPlace(fs, path, text);
    throw error;
  } finally {
    await removeIfPossible(fs, temporary);
  }
}

/**
 * The time of the file system that `path` lies on, in milliseconds: what a file gets that is made beside it now. That
 * clock may be another machine's. The folder must exist.
 */
export async function fileSystemNow(fs: SessionFs, path: string): Promise<number> {
  const probe = temporaryName(path);
  try {
    await writeNew(fs, probe, '');
    return (await fs.stat(probe)).mtimeMs;
  } finally {
    await removeIfPossible(fs, probe);
  }
}

async function createInPlace(fs: SessionFs, path: string, text: string): Promise<boolean> {
  try {
    await writeNew(fs, path, text);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    await removeIfPossible(fs, path);
    throw error;
  }
}

async function writeNew(fs: SessionFs, path: string, content: string | Uint8Array): Promise<void> {
  const handle = await fs.open(path, 'create');
  try {
    await writeAll(handle, typeof content === 'string' ? Buffer.from(content, 'utf8') : content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Takes a file or folder away; resolves with whether that worked. For clearing up, where the first error is what counts. */
export async function removeIfPossible(fs: SessionFs, path: string): Promise<boolean> {
  return fs.remove(path).then(
    () => true,
    () => false,
  );
}

function temporaryName(path: string): string {
  return `${path}.${randomUUID()}.tmp`;
}
