// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type WarningNotification = {
/**
 * Optional thread target when the warning applies to a specific thread.
 */
threadId: string | null,
/**
 * Concise warning message for the user.
 */
message: string, };
