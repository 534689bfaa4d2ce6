// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * A Responses API item ID. New IDs require an explicit prefix; deserialization
 * remains permissive so legacy rollouts can still be read.
 */
export type ResponseItemId = string;
