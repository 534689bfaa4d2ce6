// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationConstOption } from "./McpElicitationConstOption.ts";

export type McpElicitationTitledEnumItems = { anyOf: Array<McpElicitationConstOption>, };
