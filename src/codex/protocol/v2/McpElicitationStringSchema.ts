// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationStringFormat } from "./McpElicitationStringFormat.ts";
import type { McpElicitationStringType } from "./McpElicitationStringType.ts";

export type McpElicitationStringSchema = { type: McpElicitationStringType, title?: string, description?: string, minLength?: number, maxLength?: number, format?: McpElicitationStringFormat, default?: string, };
