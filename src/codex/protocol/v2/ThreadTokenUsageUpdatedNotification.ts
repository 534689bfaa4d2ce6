// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadTokenUsage } from "./ThreadTokenUsage.ts";

export type ThreadTokenUsageUpdatedNotification = { threadId: string, turnId: string, tokenUsage: ThreadTokenUsage, };
