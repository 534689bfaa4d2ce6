// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * EXPERIMENTAL. Defines a single selectable option for request_user_input.
 */
export type ToolRequestUserInputOption = { label: string, description: string, };
