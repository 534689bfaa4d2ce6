// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadSectionAppearance } from "./ThreadSectionAppearance.ts";

/**
 * An independently persisted, user-visible thread section.
 */
export type ThreadSection = {
/**
 * Opaque UUIDv7 identity that remains stable when the section is renamed.
 */
id: string,
/**
 * The current user-visible section name.
 */
name: string,
/**
 * Optional appearance synchronized across clients.
 */
appearance: ThreadSectionAppearance | null, };
