// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationStringType } from "./McpElicitationStringType.ts";

export type McpElicitationUntitledEnumItems = { type: McpElicitationStringType, enum: Array<string>, };
