// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationStringType } from "./McpElicitationStringType.ts";

export type McpElicitationUntitledSingleSelectEnumSchema = { type: McpElicitationStringType, title?: string, description?: string, enum: Array<string>, default?: string, };
