// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Initial collaboration mode to use when the TUI starts.
 */
export type ModeKind = "plan" | "default";
