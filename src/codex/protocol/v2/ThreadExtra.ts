// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Extra app-server data for a thread.
 */
export type ThreadExtra = Record<string, never>;
