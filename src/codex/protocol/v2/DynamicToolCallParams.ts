// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { JsonValue } from "../serde_json/JsonValue.ts";

export type DynamicToolCallParams = { threadId: string, turnId: string, callId: string, namespace: string | null, tool: string, arguments: JsonValue, };
