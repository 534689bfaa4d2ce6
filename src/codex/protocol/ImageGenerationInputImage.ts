// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AbsolutePathBuf } from "./AbsolutePathBuf.ts";

/**
 * A local image file successfully read for this exact image-generation request.
 */
export type ImageGenerationInputImage = { path: AbsolutePathBuf,
/**
 * Lowercase SHA-256 of the file bytes read before image normalization.
 */
sha256: string, };
