// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AgentPath } from "./AgentPath.ts";
import type { ThreadId } from "./ThreadId.ts";

export type SubAgentSource = "review" | "compact" | { "thread_spawn": { parent_thread_id: ThreadId, depth: number, agent_path: AgentPath | null, agent_nickname: string | null, agent_role: string | null, } } | "memory_consolidation" | { "other": string };
