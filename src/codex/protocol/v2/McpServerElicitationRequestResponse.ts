// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { JsonValue } from "../serde_json/JsonValue.ts";
import type { McpServerElicitationAction } from "./McpServerElicitationAction.ts";

export type McpServerElicitationRequestResponse = { action: McpServerElicitationAction,
/**
 * Structured user input for accepted elicitations, mirroring RMCP `CreateElicitationResult`.
 *
 * This is nullable because decline/cancel responses have no content.
 */
content: JsonValue | null,
/**
 * Optional client metadata for form-mode action handling.
 */
_meta: JsonValue | null, };
