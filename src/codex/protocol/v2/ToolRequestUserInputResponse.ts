// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ToolRequestUserInputAnswer } from "./ToolRequestUserInputAnswer.ts";

/**
 * EXPERIMENTAL. Response payload mapping question ids to answers.
 */
export type ToolRequestUserInputResponse = { answers: { [key in string]?: ToolRequestUserInputAnswer }, };
