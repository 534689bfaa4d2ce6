// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationBooleanSchema } from "./McpElicitationBooleanSchema.ts";
import type { McpElicitationEnumSchema } from "./McpElicitationEnumSchema.ts";
import type { McpElicitationNumberSchema } from "./McpElicitationNumberSchema.ts";
import type { McpElicitationStringSchema } from "./McpElicitationStringSchema.ts";

export type McpElicitationPrimitiveSchema = McpElicitationEnumSchema | McpElicitationStringSchema | McpElicitationNumberSchema | McpElicitationBooleanSchema;
