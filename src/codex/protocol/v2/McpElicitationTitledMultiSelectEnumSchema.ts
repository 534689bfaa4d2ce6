// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationArrayType } from "./McpElicitationArrayType.ts";
import type { McpElicitationTitledEnumItems } from "./McpElicitationTitledEnumItems.ts";

export type McpElicitationTitledMultiSelectEnumSchema = { type: McpElicitationArrayType, title?: string, description?: string, minItems?: bigint, maxItems?: bigint, items: McpElicitationTitledEnumItems, default?: Array<string>, };
