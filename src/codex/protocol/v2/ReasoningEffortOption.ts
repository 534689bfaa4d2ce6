// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ReasoningEffort } from "../ReasoningEffort.ts";

export type ReasoningEffortOption = { reasoningEffort: ReasoningEffort, description: string, };
