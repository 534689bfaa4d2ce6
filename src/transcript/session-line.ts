/**
 * One line of a session file, as far as the store must understand it (pi's JSONL v3 and its older forms).
 */
import type { AgentMessage } from './messages.ts';

/** `garbage`: not a JSON object. `entry`: any line of the tree, also of a type that this program does not know. */
export type SessionLine =
  | { kind: 'blank' }
  | { kind: 'garbage' }
  | { kind: 'header'; sessionId: string | null }
  | SessionTreeLine;

/** `id` null: an old form without ids. `parentId` undefined: an old form without parents. */
export interface SessionTreeLine {
  kind: 'entry';
  id: string | null;
  parentId: string | null | undefined;
  isMessage: boolean;
  /** `message.idempotencyKey`, when it is a string. */
  key: string | null;
}

/** Reads one line, without its newline. Total. */
export function parseSessionLine(text: string): SessionLine {
  if (text.trim() === '') return { kind: 'blank' };
  const value = parseObject(text);
  if (value === null) return { kind: 'garbage' };
  if (value['type'] === 'session') return { kind: 'header', sessionId: nonEmptyString(value['id']) };
  const message = value['type'] === 'message' && isAgentMessage(value['message']) ? value['message'] : null;
  return {
    kind: 'entry',
    id: nonEmptyString(value['id']),
    parentId: value['parentId'] === undefined ? undefined : nonEmptyString(value['parentId']),
    isMessage: message !== null,
    key: nonEmptyString(message?.idempotencyKey),
  };
}

/** The JSON object in `text`, or null when it holds anything else. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Whether `value` is a JSON object: no array, not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether `value` can stand as a message: roles and fields that this program does not know are let through. */
export function isAgentMessage(value: unknown): value is AgentMessage {
  return isObject(value) && typeof value['role'] === 'string';
}

function nonEmptyString(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
