// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationArrayType } from "./McpElicitationArrayType.ts";
import type { McpElicitationUntitledEnumItems } from "./McpElicitationUntitledEnumItems.ts";

export type McpElicitationUntitledMultiSelectEnumSchema = { type: McpElicitationArrayType, title?: string, description?: string, minItems?: bigint, maxItems?: bigint, items: McpElicitationUntitledEnumItems, default?: Array<string>, };
