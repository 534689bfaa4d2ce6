// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { JsonValue } from "../serde_json/JsonValue.ts";

export type ThreadInjectItemsParams = { threadId: string,
/**
 * Raw Responses API items to append to the thread's model-visible history.
 */
items: Array<JsonValue>, };
