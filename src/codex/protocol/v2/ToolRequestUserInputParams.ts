// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ToolRequestUserInputQuestion } from "./ToolRequestUserInputQuestion.ts";

/**
 * EXPERIMENTAL. Params sent with a request_user_input event.
 */
export type ToolRequestUserInputParams = { threadId: string, turnId: string, itemId: string, questions: Array<ToolRequestUserInputQuestion>, isBlocking: boolean,
/**
 * @deprecated Use `isBlocking` to decide whether the request should block.
 */
autoResolutionMs: number | null, };
