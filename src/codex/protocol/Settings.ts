// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ReasoningEffort } from "./ReasoningEffort.ts";

/**
 * Settings for a collaboration mode.
 */
export type Settings = { model: string, reasoning_effort: ReasoningEffort | null, developer_instructions: string | null, };
