/**
 * The file system as the session store uses it: few calls, so that a test can make each of them fail. Errors are
 * Node's, with their `code`.
 */
import { constants } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What a look at a path tells. `size` in bytes. */
export interface FileFacts {
  kind: 'file' | 'folder' | 'other';
  size: number;
  mtimeMs: number;
  ino: number;
}

/** An open file. `position` null: where the file's own position is, for `append` always the end. */
export interface SessionFileHandle {
  read(buffer: Uint8Array, offset: number, length: number, position: number | null): Promise<{ bytesRead: number }>;
  /** May write fewer bytes than asked for. */
  write(buffer: Uint8Array, offset: number, length: number, position: number | null): Promise<{ bytesWritten: number }>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** `append` needs an existing file; `create` needs that there is none. */
export type OpenMode = 'read' | 'append' | 'create';

/** Default: `nodeSessionFs`. */
export interface SessionFs {
  /** Follows links. Rejects with ENOENT when nothing is there. */
  stat(path: string): Promise<FileFacts>;
  /** New files get mode 0600. */
  open(path: string, mode: OpenMode): Promise<SessionFileHandle>;
  /** With parents, mode 0700; a folder that is there is fine. Resolves with the first folder that it had to make. */
  mkdir(path: string): Promise<string | undefined>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  /** Rejects with EEXIST when `to` is there. */
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Rejects with ENOTEMPTY when something is in it. */
  rmdir(path: string): Promise<void>;
  /** A file, or a folder with everything in it. */
  remove(path: string): Promise<void>;
}

const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: constants.O_RDONLY,
  append: constants.O_WRONLY | constants.O_APPEND,
  create: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
};

/** The real file system. */
export const nodeSessionFs: SessionFs = {
  async stat(path) {
    const facts = await stat(path);
    const kind = facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : 'other';
    return { kind, size: facts.size, mtimeMs: facts.mtimeMs, ino: facts.ino };
  },
  open: (path, mode) => open(path, FLAGS[mode], 0o600),
  mkdir: makeFolder,
  readdir: (path) => readdir(path),
  rename,
  link,
  unlink,
  rmdir: (path) => rmdir(path),
  remove: (path) => rm(path, { recursive: true, force: true }),
};

/**
 * Each folder is tried twice, before and after its parent is made: where nothing can be made at all (`/proc`) Node's
 * recursive `mkdir` never comes to an end.
 */
async function makeFolder(path: string): Promise<string | undefined> {
  const make = async (): Promise<string | undefined> => {
    try {
      await mkdir(path, { mode: 0o700 });
      return path;
    } catch (error) {
      if (await isFolder(path)) return undefined;
      throw error;
    }
  };
  try {
    return await make();
  } catch (error) {
    const parent = dirname(path);
    if (errorCode(error) !== 'ENOENT' || parent === path) throw error;
    const first = await makeFolder(parent);
    const own = await make();
    return first ?? own;
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}

/** The `code` of a file system error (`ENOENT`, …), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The facts of a path, or null when nothing is there. Rejects with every other error. */
export async function statOrNull(fs: SessionFs, path: string): Promise<FileFacts | null> {
  try {
    return await fs.stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The bytes of a file from `start` (default 0) to its end. */
export async function readBytes(fs: SessionFs, path: string, start = 0): Promise<Buffer> {
  const { size } = await fs.stat(path);
  const handle = await fs.open(path, 'read');
  try {
    const buffer = Buffer.alloc(Math.max(0, size - start));
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, start + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  } finally {
    await handle.close();
  }
}

/** Writes all of `bytes`, however many calls that takes. */
export async function writeAll(handle: SessionFileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, null);
    written += bytesWritten;
  }
}
