// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ToolRequestUserInputOption } from "./ToolRequestUserInputOption.ts";

/**
 * EXPERIMENTAL. Represents one request_user_input question and its required options.
 */
export type ToolRequestUserInputQuestion = { id: string, header: string, question: string, isOther: boolean, isSecret: boolean, options: Array<ToolRequestUserInputOption> | null, };
