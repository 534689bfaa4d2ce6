// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { JsonValue } from "../serde_json/JsonValue.ts";

export type DynamicToolFunctionSpec = { name: string, description: string, inputSchema: JsonValue, deferLoading?: boolean, };
