// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { DynamicToolNamespaceTool } from "./DynamicToolNamespaceTool.ts";

export type DynamicToolNamespaceSpec = { name: string, description: string, tools: Array<DynamicToolNamespaceTool>, };
