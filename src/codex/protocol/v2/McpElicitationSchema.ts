// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpElicitationObjectType } from "./McpElicitationObjectType.ts";
import type { McpElicitationPrimitiveSchema } from "./McpElicitationPrimitiveSchema.ts";

/**
 * Typed form schema for MCP `elicitation/create` requests.
 *
 * This matches the `requestedSchema` shape from the MCP 2025-11-25
 * `ElicitRequestFormParams` schema.
 */
export type McpElicitationSchema = { $schema?: string, type: McpElicitationObjectType, properties: { [key in string]?: McpElicitationPrimitiveSchema }, required?: Array<string>, };
