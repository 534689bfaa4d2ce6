// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Backend routing policy. Wire values match the accounts/check contract.
 */
export type AccountRoutingOverride = "NO_CONSTRAINT" | "us" | "us_cr";
