// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { TokenUsageBreakdown } from "./TokenUsageBreakdown.ts";

export type ThreadTokenUsage = { total: TokenUsageBreakdown, last: TokenUsageBreakdown, modelContextWindow: number | null, };
