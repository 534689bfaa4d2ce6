import type { AgentMessage } from '../transcript/messages.ts';

/** The mark of rows that carry a turn's run-time context: they serve one turn and are no part of the conversation. */
const RUNTIME_CONTEXT_TYPE = 'openclaw.runtime-context';

/**
 * Whether an engine must not see this row. Narrower than what the projection hides from the model: an engine stores
 * every row of the conversation.
 */
export function isRuntimeContext(message: AgentMessage): boolean {
  return message.role === 'custom' && message['customType'] === RUNTIME_CONTEXT_TYPE;
}

/**
 * The snapshot as an engine sees it: without run-time context, the number of rows before the prompt adjusted. A count that
 * lies outside the snapshot is moved to its nearer end.
 */
export function conversationOf(
  messages: readonly AgentMessage[],
  prePromptMessageCount: number,
): { messages: AgentMessage[]; prePromptMessageCount: number } {
  const before = messages.slice(0, Math.max(0, prePromptMessageCount)).filter((row) => !isRuntimeContext(row));
  return {
    messages: messages.filter((row) => !isRuntimeContext(row)),
    prePromptMessageCount: before.length,
  };
}
