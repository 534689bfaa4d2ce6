import type { AgentMessage, AssistantMessage } from '../../transcript/messages.ts';

/** Rows for histories. Equal arguments give equal rows. */
export function userRow(text: string, idempotencyKey?: string): AgentMessage {
  return { role: 'user', content: text, timestamp: 1, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
}

export function assistantRow(text: string): AssistantMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: 'openai-responses',
    provider: 'openai',
    model: 'gpt-test',
    usage: {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: 2,
  };
}
