// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AbsolutePathBuf } from "./AbsolutePathBuf.ts";
import type { ImageGenerationFailure } from "./ImageGenerationFailure.ts";
import type { ImageGenerationInputImage } from "./ImageGenerationInputImage.ts";

export type ImageGenerationItem = { id: string, status: string, revisedPrompt: string | null, transparentBackground?: boolean, failure: ImageGenerationFailure | null, savedPath?: AbsolutePathBuf,
/**
 * Observed local inputs for a completed generation, absent on older items.
 */
inputImages?: Array<ImageGenerationInputImage>,
/**
 * Image generation identifier for the generated image, when provided by the image backend.
 */
generationId: string | null, } & ({ fileId: string, } | { result: string, });
