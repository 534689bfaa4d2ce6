// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationConstOption } from "./McpElicitationConstOption.ts";
import type { McpElicitationStringType } from "./McpElicitationStringType.ts";

export type McpElicitationTitledSingleSelectEnumSchema = { type: McpElicitationStringType, title?: string, description?: string, oneOf: Array<McpElicitationConstOption>, default?: string, };
