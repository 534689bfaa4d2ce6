// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type AgentMessageInputContent = { "type": "input_text", text: string, } | { "type": "encrypted_content", encrypted_content: string, };
