// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Extensible visual presentation for a custom thread section.
 */
export type ThreadSectionAppearance = { icon: string | null, color: string | null, };
