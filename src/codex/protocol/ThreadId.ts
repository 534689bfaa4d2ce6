// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Identifier for a Codex thread.
 *
 * Codex-generated thread IDs are UUIDv7, and some use cases rely on that.
 */
export type ThreadId = string;
