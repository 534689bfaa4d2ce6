// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationNumberType } from "./McpElicitationNumberType.ts";

export type McpElicitationNumberSchema = { type: McpElicitationNumberType, title?: string, description?: string, minimum?: number, maximum?: number, default?: number, };
