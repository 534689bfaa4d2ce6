import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SessionTarget } from './contract.ts';
import { EMPTY_CONTENT, type WindowContent } from './window-rollup.ts';

/** One committed turn: its key, and a hash of what was committed under it. */
export interface LedgerEntry {
  key: string;
  hash: string;
}

/** Everything the window engine keeps of one session. One JSON file, replaced whole by every change. */
export interface WindowState extends WindowContent {
  version: 1;
  sessionId: string;
  /** Oldest first. */
  ledger: readonly LedgerEntry[];
}

function freshState(sessionId: string): WindowState {
  return { version: 1, sessionId, ...EMPTY_CONTENT, ledger: [] };
}

/** The file of a session: in `stateDir` under a hash of the session's key, else beside the host's session. */
export function stateFileOf(session: {
  stateDir: string | undefined;
  sessionKey: string;
  sessionTarget: SessionTarget | undefined;
}): string {
  const { stateDir, sessionKey, sessionTarget } = session;
  if (stateDir !== undefined) return join(stateDir, `${hashOf(sessionKey).slice(0, 32)}.json`);
  if (sessionTarget !== undefined) return `${sessionTarget.storePath}.engine.json`;
  throw new Error('no place for the state: the host gave no sessionTarget, and stateDir is not configured');
}

/**
 * The state of a session. A file that is absent, damaged or of another session counts as fresh: the transcript is the
 * truth, the next bootstrap takes it in again.
 */
export async function readState(file: string, sessionId: string): Promise<WindowState> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return freshState(sessionId);
    throw error;
  }
  const state = parse(text);
  return state !== null && state.sessionId === sessionId ? state : freshState(sessionId);
}

let writes = 0;

/** Replaces the file in one step: after a crash it holds the old state or the new one, never half of it. */
export async function writeState(file: string, state: WindowState): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  writes += 1;
  const temporary = `${file}.${process.pid}.${writes}.tmp`;
  try {
    const handle = await open(temporary, 'w', 0o600);
    try {
      await handle.writeFile(JSON.stringify(state));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export async function removeState(file: string): Promise<void> {
  await rm(file, { force: true });
}

export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(typeof value === 'string' ? value : JSON.stringify(value))
    .digest('hex');
}

/** Only what this engine has written itself is read here, so the version and the lists are check enough. */
function parse(text: string): WindowState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return isState(value) ? value : null;
}

function isState(value: unknown): value is WindowState {
  if (typeof value !== 'object' || value === null) return false;
  const { version, sessionId, digestedTo, digest, rows, ledger } = value as Readonly<Record<string, unknown>>;
  return (
    version === 1 &&
    typeof sessionId === 'string' &&
    Number.isInteger(digestedTo) &&
    typeof digest === 'object' &&
    digest !== null &&
    Array.isArray(rows) &&
    Array.isArray(ledger)
  );
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 'ENOENT';
}
