import { createHash } from 'node:crypto';
import type { AssembleResult, ContextEngine } from '../engine/contract.ts';
import { CHARS_PER_TOKEN } from '../engine/tokens.ts';
import type { BoundThread, ThreadBinding, TranscriptEntry } from '../ports.ts';
import type { ThreadPlan } from './record.ts';

/** How many threads a binding remembers, so that a heartbeat or a tool-less turn does not lose the main one. */
export const REMEMBERED_THREADS = 4;

/** Identity of an engine and of everything in its policy that shapes what a thread was fed (spec T1, design 3). */
export interface EngineIdentity {
  id: string;
  policy: string;
}

export function engineIdentity(
  engine: ContextEngine,
  settings: { tokenBudget: number; citationsMode: string | null },
): EngineIdentity {
  const { info } = engine;
  const policy = [
    info.version ?? null,
    info.ownsCompaction === true,
    info.turnMaintenanceMode ?? null,
    settings.citationsMode,
    settings.tokenBudget,
  ];
  return { id: info.id, policy: JSON.stringify(policy) };
}

/** Tokens of the window that a turn needs beside its prompt: the model's answer, what tools say. */
const WINDOW_RESERVE = 20_000;

/**
 * Resume or start? Ids, fingerprints and epochs are compared; `contextProjection.fingerprint` never rotates a thread
 * (spec P7). Last comes the window: when an engine has assembled the context and the thread has no room left for the
 * turn, a fresh one gets the context instead (`window-pressure`). It is the only way in which an engine's thread becomes
 * smaller by the engine's doing: what was projected into a thread stays in it, and past the window Codex would replace it
 * by a summary of its own. Only what Codex has reported counts, never the size of a file (BL-27); unknown figures are no
 * pressure. Without an assembly nothing could be projected again, so Codex compacts by itself. Total.
 */
export function planThread(input: {
  binding: ThreadBinding | null;
  toolFingerprint: string;
  engine: EngineIdentity | null;
  assembly: AssembleResult | null;
  /** Length of the text that the turn would send on the bound thread. */
  promptChars: number;
  /** The visible branch of the session. */
  entries: readonly TranscriptEntry[];
  /** A try on a bound thread has failed already: only a fresh one is left. */
  forceStart: boolean;
}): ThreadPlan {
  const mark = input.assembly?.contextProjection ?? null;
  const start = (reason: string): ThreadPlan => ({ kind: 'start', bound: null, reason, epoch: mark?.epoch ?? null });

  if (input.forceStart) return start('retry-on-fresh-thread');
  if (input.binding === null || input.binding.threads.length === 0) return start('no-binding');
  const bound = input.binding.threads.find((thread) => thread.toolFingerprint === input.toolFingerprint);
  if (bound === undefined) return start('tools-changed');
  // Rows that it has seen were changed, taken out, or are on another branch: the thread tells another story.
  if (bound.seenEntryId !== null && !knowsBranch(bound, input.entries)) return start('session-rewritten');
  if (input.engine === null && bound.engine !== null) return start('engine-gone');
  if (input.engine !== null && bound.engine !== null) {
    if (bound.engine.id !== input.engine.id) return start('engine-changed');
    if (bound.engine.policy !== input.engine.policy) return start('engine-policy-changed');
  }
  // A thread from before the engine was configured stays valid (spec T1); it has no epoch, so an engine that projects
  // once per epoch gets a fresh one.
  if (mark !== null && mark.epoch !== bound.epoch) return start('epoch-changed');
  if (input.assembly !== null && bound.contextLost === true) return start('context-compacted');
  if (input.assembly !== null && !hasRoom(bound, input.promptChars)) return start('window-pressure');
  return { kind: 'resume', bound, reason: 'bound', epoch: mark?.epoch ?? bound.epoch };
}

/** Whether the visible branch still begins with the very rows that the thread has seen. */
function knowsBranch({ seenEntryId, seenHash }: BoundThread, entries: readonly TranscriptEntry[]): boolean {
  const last = entries.findIndex((entry) => entry.entryId === seenEntryId);
  if (last === -1) return false;
  return seenHash === undefined || branchHash(entries.slice(0, last + 1)) === seenHash;
}

/** Identity of rows: their ids and what they hold. */
export function branchHash(entries: readonly TranscriptEntry[]): string {
  const hash = createHash('sha256');
  for (const { entryId, message } of entries) hash.update(`${JSON.stringify([entryId, message])}\n`);
  return hash.digest('hex');
}

/** Whether a turn fits behind what the thread held when Codex last said so. The reserve is half the window at most. */
function hasRoom({ context }: BoundThread, promptChars: number): boolean {
  if (context === undefined) return true;
  const room = context.window - Math.min(WINDOW_RESERVE, context.window / 2);
  return context.tokens + Math.ceil(promptChars / CHARS_PER_TOKEN) <= room;
}

/**
 * A thread after Codex has compacted it. Injected instructions are gone and have to be given again (design 3); so is the
 * context of an engine that projects once per epoch; how full it is now is not known until Codex says so.
 */
export function compactedThread({ context: _, ...thread }: BoundThread): BoundThread {
  return { ...thread, instructionsHash: null, ...(thread.epoch === null ? {} : { contextLost: true }) };
}

/** Puts a thread first and forgets what it replaces: an older thread with the same tools, and the oldest over four. */
export function rememberThread(binding: ThreadBinding | null, realm: string, thread: BoundThread): ThreadBinding {
  const others = (binding?.threads ?? []).filter(
    (other) => other.threadId !== thread.threadId && other.toolFingerprint !== thread.toolFingerprint,
  );
  return { version: 1, realm, threads: [thread, ...others].slice(0, REMEMBERED_THREADS) };
}

/**
 * Rows behind `seenEntryId` that the thread did not make itself. A prompt row belongs to the turn whose rows follow it.
 * `seenEntryId` not known, or not in the session: no rows, rather than the whole history onto a thread that has it (fault BL-11).
 */
export function foreignEntries(entries: readonly TranscriptEntry[], thread: BoundThread): TranscriptEntry[] {
  if (thread.seenEntryId === null) return [];
  const seen = entries.findIndex((entry) => entry.entryId === thread.seenEntryId);
  if (seen === -1) return [];
  const own = `codex-app-server:${thread.threadId}:`;
  const newer = entries.slice(seen + 1);
  return newer.filter((entry, index) => {
    const key = entry.message.idempotencyKey;
    if (key === undefined) return true;
    if (key.startsWith(own)) return false;
    if (!isPromptKey(key)) return true;
    return newer[index + 1]?.message.idempotencyKey?.startsWith(own) !== true;
  });
}

function isPromptKey(key: string): boolean {
  return key.startsWith('codex-attempt:') && key.endsWith(':prompt');
}
