// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { SubAgentSource } from "../SubAgentSource.ts";

export type SessionSource = "cli" | "vscode" | "exec" | "appServer" | { "custom": string } | { "subAgent": SubAgentSource } | "unknown";
