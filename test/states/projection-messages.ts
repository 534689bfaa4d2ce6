import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolResultMessage,
  UserMessage,
} from '../../src/transcript/messages.ts';

/** Rows for the projection tests. */

export function user(content: UserMessage['content'], idempotencyKey?: string): UserMessage {
  return { role: 'user', content, timestamp: 1, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
}

export function assistant(content: string | AssistantMessage['content']): AssistantMessage {
  return {
    role: 'assistant',
    content: typeof content === 'string' ? [text(content)] : content,
    api: 'a',
    provider: 'p',
    model: 'm',
    usage: {
      input: 1,
      output: 2,
      cacheRead: 3,
      cacheWrite: 4,
      totalTokens: 10,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: 2,
  };
}

export function toolCall(
  name: string,
  args: Record<string, unknown>,
  id = 'call-1',
): AssistantMessage['content'][number] {
  return { type: 'toolCall', id, name, arguments: args };
}

export function toolResult(content: string, toolCallId = 'call-1'): ToolResultMessage {
  return { role: 'toolResult', toolCallId, toolName: 'exec', content: [text(content)], isError: false, timestamp: 3 };
}

export function text(value: string): TextPart {
  return { type: 'text', text: value };
}

export const image: ImagePart = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' };

/** A row as a careless engine or an old file may hold it. */
export function raw(fields: Record<string, unknown>): AgentMessage {
  return fields as unknown as AgentMessage;
}

/** Numbers below `n`, the same ones for the same seed. */
export function sequence(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** The same value with the keys of every object in another order. */
export function permuted<T>(value: T, next: (n: number) => number): T {
  if (Array.isArray(value)) return value.map((item) => permuted(item, next)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, permuted(item, next)] as const);
  for (let i = entries.length - 1; i > 0; i -= 1) {
    const j = next(i + 1);
    const [a, b] = [entries[i], entries[j]];
    if (a !== undefined && b !== undefined) [entries[i], entries[j]] = [b, a];
  }
  return Object.fromEntries(entries) as T;
}

export function hasLoneSurrogate(value: string): boolean {
  return /\p{Surrogate}/u.test(value);
}
