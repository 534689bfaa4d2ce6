import type { AgentMessage } from '../transcript/messages.ts';

/** Characters that count as one token, for text and for the JSON of what is not text. */
export const CHARS_PER_TOKEN = 4;

/** What an image counts, in characters; its base64 says nothing about its tokens. */
const IMAGE_CHARS = 4800;

/** An estimate that never depends on the model: a quarter of the characters, rounded up. Total. */
export function estimateTokens(messages: readonly AgentMessage[]): number {
  let chars = 0;
  for (const message of messages) chars += messageChars(message);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** Characters that the model would read of one message. */
export function messageChars(message: AgentMessage): number {
  const content: unknown = message.content;
  if (typeof content === 'string') return content.length;
  if (!Array.isArray(content)) return content === undefined ? 0 : jsonLength(content);
  let chars = 0;
  for (const part of content as unknown[]) chars += partChars(part);
  return chars;
}

function partChars(part: unknown): number {
  if (typeof part !== 'object' || part === null) return jsonLength(part);
  const { type, text, thinking } = part as { type?: unknown; text?: unknown; thinking?: unknown };
  if (type === 'text' && typeof text === 'string') return text.length;
  if (type === 'thinking' && typeof thinking === 'string') return thinking.length;
  if (type === 'image') return IMAGE_CHARS;
  return jsonLength(part);
}

function jsonLength(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
