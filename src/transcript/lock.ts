/**
 * One writer per session: a lock file with the identity of its owner. A lock whose owner is gone is taken over; when
 * several processes try that at once, exactly one succeeds.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AttemptError } from '../errors.ts';
import type { Clock, Logger } from '../ports.ts';
import { createFileAtomic, fileSystemNow, removeIfPossible, writeFileAtomic } from './atomic-write.ts';
import { errorCode, readBytes, type SessionFs, statOrNull } from './fs.ts';
import { isProcessGone, processStartTime } from './process-identity.ts';
import { parseObject } from './session-line.ts';

/** What a lock file says. `startTime` null: the system does not tell. `since`: ISO 8601. */
export interface LockOwner {
  pid: number;
  startTime: string | null;
  host: string;
  token: string;
  since: string;
}

export interface LockOptions {
  /** The lock file; its folder must exist. */
  path: string;
  fs: SessionFs;
  clock: Clock;
  logger?: Logger | undefined;
}

/** A lock that this process holds. */
export interface HeldLock {
  /** Takes the file away, unless it is somebody else's by now. May be called twice. */
  release(): Promise<void>;
}

/**
 * A lock file that makes no sense is being written (on a file system without hard links), or it is nobody's: this many
 * milliseconds away from the file system's own time, on either side, it is the latter.
 */
const WRITING_MS = 5_000;

/**
 * Takes the lock. Rejects with AttemptError `session_busy` when somebody else holds it, `session_unreadable` when
 * something else than a file stands in its place, else with the file system's error. Never waits.
 */
export async function acquireLock(options: LockOptions): Promise<HeldLock> {
  const { path, fs, clock } = options;
  const owner: LockOwner = {
    pid: process.pid,
    startTime: processStartTime(process.pid),
    host: hostname(),
    token: randomUUID(),
    since: new Date(clock.now()).toISOString(),
  };
  const text = `${JSON.stringify(owner)}\n`;
  if (!(await createFileAtomic(fs, path, text)) && !(await takeOver(options, text))) {
    // Gone between our two looks: the owner has just let go.
    if (!(await createFileAtomic(fs, path, text))) throw busy(path, (await look(options)).owner);
  }
  return { release: () => release(fs, path, owner.token) };
}

interface Look {
  state: 'free' | 'held' | 'stale';
  owner: LockOwner | null;
}

/**
 * Replaces a stale lock. Only who holds the lock's own claim may do so, and looks again once it has it: a lock that
 * another process has just taken over is live by then. The file is never absent in between, so nobody slips in.
 */
async function takeOver(options: LockOptions, text: string): Promise<boolean> {
  const { path, fs } = options;
  const first = await look(options);
  if (first.state === 'free') return false;
  if (first.state === 'held') throw busy(path, first.owner);
  const claim = await acquireLock({ ...options, path: `${path}.claim` });
  try {
    const second = await look(options);
    if (second.state === 'free') return false;
    if (second.state === 'held') throw busy(path, second.owner);
    await writeFileAtomic(fs, path, text);
    const whose = second.owner === null ? 'nobody: the lock file made no sense' : 'a process that is gone';
    options.logger?.warn(`session lock: taken over from ${whose}`, { pid: second.owner?.pid ?? null });
    return true;
  } finally {
    await claim.release();
  }
}

async function look(options: LockOptions): Promise<Look> {
  const { path, fs } = options;
  const facts = await statOrNull(fs, path);
  if (facts !== null && facts.kind !== 'file') throw notALock(path, facts.kind);
  const owner = facts === null ? null : await readOwner(fs, path);
  if (facts === null || owner === 'absent') return { state: 'free', owner: null };
  if (owner === null) {
    const isBeingWritten = Math.abs((await fileSystemNow(fs, path)) - facts.mtimeMs) <= WRITING_MS;
    return { state: isBeingWritten ? 'held' : 'stale', owner: null };
  }
  const isGone = owner.host === hostname() && isProcessGone(owner.pid, owner.startTime);
  return { state: isGone ? 'stale' : 'held', owner };
}

/** Null: what is there is no lock file's text. */
async function readOwner(fs: SessionFs, path: string): Promise<LockOwner | 'absent' | null> {
  try {
    return ownerOf((await readBytes(fs, path)).toString('utf8'));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'absent';
    throw error;
  }
}

function ownerOf(text: string): LockOwner | null {
  const value = parseObject(text);
  if (value === null) return null;
  const { pid, startTime, host, token, since } = value;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null;
  if (typeof host !== 'string' || typeof token !== 'string' || typeof since !== 'string') return null;
  return { pid, startTime: typeof startTime === 'string' ? startTime : null, host, token, since };
}

async function release(fs: SessionFs, path: string, token: string): Promise<void> {
  const owner = await readOwner(fs, path);
  if (owner !== null && owner !== 'absent' && owner.token === token) await removeIfPossible(fs, path);
}

function notALock(path: string, kind: 'folder' | 'other'): AttemptError {
  const what = kind === 'folder' ? 'a folder' : 'not a regular file';
  return new AttemptError(
    'session_unreadable',
    `The session cannot be locked: ${path} is ${what}, where its lock file belongs. Move it away, or name another session file.`,
    { data: { path } },
  );
}

function busy(path: string, owner: LockOwner | null): AttemptError {
  const by = owner === null ? 'another process' : `process ${owner.pid} on ${owner.host} since ${owner.since}`;
  return new AttemptError(
    'session_busy',
    `The session is in use by ${by}. Wait until it ends; if it is gone for good, remove ${path}.`,
    { data: { path, pid: owner?.pid ?? null, since: owner?.since ?? null, host: owner?.host ?? null } },
  );
}
