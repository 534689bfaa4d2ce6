// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type BlockReason = { "kind": "protection",
/**
 * Identifies the same moderation row that Chat writes on the live path.
 */
protectionType: string, } | { "kind": "cyber", trustedAccess?: boolean, };
