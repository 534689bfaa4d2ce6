// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { DynamicToolFunctionSpec } from "./DynamicToolFunctionSpec.ts";

export type DynamicToolNamespaceTool = { "type": "function" } & DynamicToolFunctionSpec;
