// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { DynamicToolCallOutputContentItem } from "./DynamicToolCallOutputContentItem.ts";

export type DynamicToolCallResponse = { contentItems: Array<DynamicToolCallOutputContentItem>, success: boolean, };
