// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Location used to resolve a selected capability root.
 */
export type CapabilityRootLocation = { "type": "environment", environmentId: string,
/**
 * Absolute path for the root in the selected environment.
 */
path: string, };
