// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { DynamicToolFunctionSpec } from "./DynamicToolFunctionSpec.ts";
import type { DynamicToolNamespaceSpec } from "./DynamicToolNamespaceSpec.ts";

export type DynamicToolSpec = { "type": "function" } & DynamicToolFunctionSpec | { "type": "namespace" } & DynamicToolNamespaceSpec;
