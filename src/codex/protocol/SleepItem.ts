// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Display item emitted by the interruptible `clock.sleep` tool.
 */
export type SleepItem = { id: string, durationMs: number, };
