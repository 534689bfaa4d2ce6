// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * See https://platform.openai.com/docs/guides/reasoning?api-mode=responses#get-started-with-reasoning
 */
export type ReasoningEffort = string;
