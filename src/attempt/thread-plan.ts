import type { AssembleResult, ContextEngine } from '../engine/contract.ts';
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

/**
 * Resume or start? Only ids, fingerprints and epochs are compared; `contextProjection.fingerprint` never rotates a
 * thread (spec P7). Total.
 */
export function planThread(input: {
  binding: ThreadBinding | null;
  toolFingerprint: string;
  engine: EngineIdentity | null;
  assembly: AssembleResult | null;
  /** A try on a bound thread has failed already: only a fresh one is left. */
  forceStart: boolean;
}): ThreadPlan {
  const mark = input.assembly?.contextProjection ?? null;
  const start = (reason: string): ThreadPlan => ({ kind: 'start', bound: null, reason, epoch: mark?.epoch ?? null });

  if (input.forceStart) return start('retry-on-fresh-thread');
  if (input.binding === null || input.binding.threads.length === 0) return start('no-binding');
  const bound = input.binding.threads.find((thread) => thread.toolFingerprint === input.toolFingerprint);
  if (bound === undefined) return start('tools-changed');
  if (input.engine === null && bound.engine !== null) return start('engine-gone');
  if (input.engine !== null && bound.engine !== null) {
    if (bound.engine.id !== input.engine.id) return start('engine-changed');
    if (bound.engine.policy !== input.engine.policy) return start('engine-policy-changed');
  }
  // A thread from before the engine was configured stays valid (spec T1); it has no epoch, so an engine that projects
  // once per epoch gets a fresh one.
  if (mark !== null && mark.epoch !== bound.epoch) return start('epoch-changed');
  return { kind: 'resume', bound, reason: 'bound', epoch: mark?.epoch ?? bound.epoch };
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
 * Unknown `seenEntryId`: no rows, rather than the whole history onto a thread that has it (fault BL-11).
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
