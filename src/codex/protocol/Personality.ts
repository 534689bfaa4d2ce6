// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Deprecated: `friendly` and `pragmatic` no longer select a style.
 */
export type Personality = "none" | "friendly" | "pragmatic";
