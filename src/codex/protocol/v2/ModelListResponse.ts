// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { Model } from "./Model.ts";

export type ModelListResponse = { data: Array<Model>,
/**
 * Opaque cursor to pass to the next call to continue after the last item.
 * If None, there are no more items to return.
 */
nextCursor: string | null, };
