// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Multi-agent runtime supported by a model.
 */
export type MultiAgentVersion = "disabled" | "v1" | "v2";
