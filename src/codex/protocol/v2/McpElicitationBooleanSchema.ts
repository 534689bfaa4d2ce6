// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationBooleanType } from "./McpElicitationBooleanType.ts";

export type McpElicitationBooleanSchema = { type: McpElicitationBooleanType, title?: string, description?: string, default?: boolean, };
