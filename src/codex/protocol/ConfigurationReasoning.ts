// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ReasoningEffort } from "./ReasoningEffort.ts";

/**
 * Reasoning settings interpreted by the backend for the routed model.
 */
export type ConfigurationReasoning = { effort: ReasoningEffort, };
