// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * EXPERIMENTAL. Captures a user's answer to a request_user_input question.
 */
export type ToolRequestUserInputAnswer = { answers: Array<string>, };
