// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { CollabAgentStatus } from "./CollabAgentStatus.ts";

export type CollabAgentState = { status: CollabAgentStatus, message: string | null, };
