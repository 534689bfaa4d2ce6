// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationStringType } from "./McpElicitationStringType.ts";

export type McpElicitationLegacyTitledEnumSchema = { type: McpElicitationStringType, title?: string, description?: string, enum: Array<string>, enumNames?: Array<string>, default?: string, };
