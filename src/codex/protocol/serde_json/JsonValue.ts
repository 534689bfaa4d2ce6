// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]?: JsonValue } | null;
