// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ByteRange } from "./ByteRange.ts";

export type TextElement = {
/**
 * Byte range in the parent `text` buffer that this element occupies.
 */
byteRange: ByteRange,
/**
 * Optional human-readable placeholder for the element, displayed in the UI.
 */
placeholder: string | null, };
