// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AgentMessageDisplay } from "./AgentMessageDisplay.ts";

export type AgentMessageModeration = { moderated: boolean, display: AgentMessageDisplay | null, };
