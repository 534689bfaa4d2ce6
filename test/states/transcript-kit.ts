import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock, Logger, SessionStore, TranscriptRow } from '../../src/ports.ts';
import type { SessionFs } from '../../src/transcript/fs.ts';
import type { AgentMessage, AssistantMessage, UserMessage } from '../../src/transcript/messages.ts';
import { openSessionStore, type SessionStoreOptions } from '../../src/transcript/store.ts';

export const NOW = Date.parse('2026-01-02T03:04:05.678Z');
export const ISO = new Date(NOW).toISOString();
export const CWD = '/somewhere';

/** A clock that stands still. */
export const clock: Clock = { now: () => NOW, setTimeout: () => undefined, clearTimeout: () => undefined };

export const signal = new AbortController().signal;

/** A folder that goes with the test. */
export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'transcript-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function tempSession(content?: string | Buffer): Promise<string> {
  const path = join(await tempFolder(), 's.jsonl');
  if (content !== undefined) await writeFile(path, content);
  return path;
}

/** A store with ids e1, e2, …; closed with the test. */
export function store(sessionFile: string, options: Partial<SessionStoreOptions> = {}): SessionStore {
  let ids = 0;
  const made = openSessionStore({
    sessionFile,
    realm: 'codex',
    cwd: CWD,
    clock,
    newId: () => {
      ids += 1;
      return `e${ids}`;
    },
    ...options,
  });
  onTestFinished(() => made.transcript.close());
  return made;
}

export async function opened(sessionFile: string, options: Partial<SessionStoreOptions> = {}): Promise<SessionStore> {
  const made = store(sessionFile, options);
  await made.transcript.open(signal);
  return made;
}

export function user(text: string, more: object = {}): UserMessage {
  return { role: 'user', content: text, timestamp: NOW, ...more };
}

export function assistant(text: string, more: Partial<AssistantMessage> = {}): AssistantMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: 'openai-codex-responses',
    provider: 'openai-codex',
    model: 'm',
    usage: {
      input: 1,
      output: 2,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 3,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: NOW,
    ...more,
  };
}

export function row(idempotencyKey: string, message: AgentMessage): TranscriptRow {
  return { idempotencyKey, message };
}

/** A line as pi's JSONL v3 writes it. */
export function line(id: string, parentId: string | null, message: unknown, more: object = {}): string {
  return `${JSON.stringify({ type: 'message', id, parentId, timestamp: ISO, message, ...more })}\n`;
}

export const HEADER = `${JSON.stringify({ type: 'session', version: 3, id: 'sid', timestamp: ISO, cwd: CWD })}\n`;

/** The parsed lines of a file; fails on a line that is no JSON. */
export async function lines(path: string): Promise<unknown[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((one) => JSON.parse(one));
}

/** The texts of the visible branch. */
export async function texts(made: SessionStore): Promise<string[]> {
  const { entries } = await made.transcript.read(signal);
  return entries.map(({ message }) => textOf(message));
}

export function textOf(message: AgentMessage): string {
  if (typeof message.content === 'string') return message.content;
  return Array.isArray(message.content)
    ? message.content.map((part) => ('text' in part ? part.text : '')).join('')
    : '';
}

/** Keeps the warnings and errors it is given. */
export function recordingLogger(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = [];
  const quiet = () => undefined;
  const keep = (message: string) => {
    warnings.push(message);
  };
  return { logger: { debug: quiet, info: quiet, warn: keep, error: keep }, warnings };
}

/** A file system error as Node throws it. */
export function fsError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

/** `base` with some calls replaced. */
export function patchedFs(base: SessionFs, patch: Partial<SessionFs>): SessionFs {
  return { ...base, ...patch };
}
