/**
 * The idempotency keys of the rows that an attempt writes (design 5).
 */

/** Key of the prompt row of an attempt. */
export function promptKey(attemptId: string): string {
  return `codex-attempt:${attemptId}:prompt`;
}

/** Key of every other row: by the item that it stands for, never by a position (BL-28). */
export function itemKey(threadId: string, turnId: string, itemId: string, kind: string): string {
  return `codex-app-server:${threadId}:${turnId}:${itemId}:${kind}`;
}
