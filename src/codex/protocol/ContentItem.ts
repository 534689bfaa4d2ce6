// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ImageDetail } from "./ImageDetail.ts";

export type ContentItem = { "type": "input_text", text: string, } | { "type": "input_image", detail?: ImageDetail, } & ({ image_url: string, } | { file_id: string, }) | { "type": "input_audio", } & ({ audio_url: string, } | { file_id: string, }) | { "type": "output_text", text: string, annotations?: unknown[], logprobs?: unknown[], };
