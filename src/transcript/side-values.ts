/**
 * The values of the side files, taken from parsed JSON. Total; null: not such a value. A binding of an older form that
 * lacks optional facts stays valid (spec T1): what is not known is null, and null is always safe.
 */
import type { BoundThread, NativeContext, OutboxRecord, ThreadBinding, TranscriptRow, TurnIntent } from '../ports.ts';
import { isAgentMessage, isObject } from './session-line.ts';

/** A binding as it is stored: with the place of its session, because a copy must not write into its threads. */
export type StoredBinding = ThreadBinding & { sessionFile?: string };

/** Which threads belong to a session. One thread that makes no sense makes the whole binding unknown. */
export function parseThreadBinding(value: unknown): StoredBinding | null {
  if (!isObject(value) || value['version'] !== 1) return null;
  const { realm, threads, sessionId, sessionFile } = value;
  if (typeof realm !== 'string' || !Array.isArray(threads)) return null;
  const bound: BoundThread[] = [];
  for (const thread of threads) {
    const parsed = parseBoundThread(thread);
    if (parsed === null) return null;
    bound.push(parsed);
  }
  return {
    version: 1,
    realm,
    ...(typeof sessionId === 'string' ? { sessionId } : {}),
    ...(typeof sessionFile === 'string' ? { sessionFile } : {}),
    threads: bound,
  };
}

function parseBoundThread(value: unknown): BoundThread | null {
  if (!isObject(value)) return null;
  const { threadId, toolFingerprint, engine } = value;
  if (typeof threadId !== 'string' || threadId === '' || typeof toolFingerprint !== 'string') return null;
  const context = parseContext(value['context']);
  return {
    threadId,
    toolFingerprint,
    engine: parseEngine(engine),
    epoch: stringOrNull(value['epoch']),
    ...(value['contextLost'] === true ? { contextLost: true } : {}),
    instructionsHash: stringOrNull(value['instructionsHash']),
    seenEntryId: stringOrNull(value['seenEntryId']),
    ...(typeof value['seenHash'] === 'string' ? { seenHash: value['seenHash'] } : {}),
    ...(context === null ? {} : { context }),
  };
}

function parseContext(value: unknown): NativeContext | null {
  if (!isObject(value)) return null;
  const { tokens, window } = value;
  return isCount(tokens) && isCount(window) && window > 0 ? { tokens, window } : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function parseEngine(value: unknown): BoundThread['engine'] {
  if (!isObject(value)) return null;
  const { id, policy } = value;
  return typeof id === 'string' && typeof policy === 'string' ? { id, policy } : null;
}

/** The intent of a turn. */
export function parseTurnIntent(value: unknown): TurnIntent | null {
  if (!isObject(value) || value['version'] !== 1) return null;
  const { attemptId, threadId, realm, sessionId } = value;
  const promptRow = parseRow(value['promptRow']);
  if (typeof attemptId !== 'string' || typeof threadId !== 'string' || typeof realm !== 'string') return null;
  if (promptRow === null) return null;
  return {
    version: 1,
    attemptId,
    ...(typeof sessionId === 'string' ? { sessionId } : {}),
    threadId,
    turnId: stringOrNull(value['turnId']),
    promptRow,
    realm,
    ...parseAccepted(value['accepted']),
  };
}

function parseAccepted(value: unknown): Pick<TurnIntent, 'accepted'> {
  if (!isObject(value) || typeof value['engineId'] !== 'string') return {};
  return { accepted: { engineId: value['engineId'], isHeartbeat: value['isHeartbeat'] === true } };
}

function parseRow(value: unknown): TranscriptRow | null {
  if (!isObject(value)) return null;
  const { idempotencyKey, message } = value;
  if (typeof idempotencyKey !== 'string' || !isAgentMessage(message)) return null;
  return { idempotencyKey, message };
}

/** A turn on its way to an engine. */
export function parseOutboxRecord(value: unknown): OutboxRecord | null {
  if (!isObject(value)) return null;
  const { advancementKey, engineId, payload } = value;
  if (typeof advancementKey !== 'string' || typeof engineId !== 'string' || !isObject(payload)) return null;
  return { advancementKey, engineId, payload };
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
