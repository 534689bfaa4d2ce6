import type { AgentMessage } from '../transcript/messages.ts';
import { isAgentMessage, isObject } from '../transcript/session-line.ts';

/**
 * What a `before_message_write` hook's answer makes of a message: nothing or an empty object leave it as it is,
 * `{ message }` replaces it, `{ block: true }` gives null: it shall not be written. The idempotency key stays that of
 * the message, whatever the hook says. Throws, for a person, when the answer is a wrong one: no message, another role,
 * content that no reader of a session could take.
 */
export function rewrite(message: AgentMessage, answer: unknown): AgentMessage | null {
  if (answer === undefined || answer === null) return message;
  if (!isObject(answer)) throw new Error('returned something that is not an object');
  const { block, message: given } = answer;
  if (block != null && typeof block !== 'boolean') throw new Error('returned a block that is not true or false');
  if (block === true) return null;
  if (given === undefined || given === null) return message;
  if (!isObject(given)) throw new Error('returned a message that is not an object');
  // As it will be read back: what JSON cannot hold is refused or gone now, not at the write.
  const copy: unknown = JSON.parse(JSON.stringify(given));
  if (!isAgentMessage(copy)) throw new Error('returned a message without a role');
  if (copy.role !== message.role) throw new Error(`returned a message of the role ${copy.role}, not ${message.role}`);
  if (!hasContent(copy)) throw new Error('returned a message whose content cannot be read');
  delete copy.idempotencyKey;
  if (message.idempotencyKey !== undefined) copy.idempotencyKey = message.idempotencyKey;
  return copy;
}

/** Roles of other kinds may hold anything. */
function hasContent({ role, content }: AgentMessage): boolean {
  if (role !== 'user' && role !== 'assistant' && role !== 'toolResult') return true;
  if (typeof content === 'string') return role === 'user';
  return Array.isArray(content) && content.every(isPart);
}

function isPart(part: unknown): boolean {
  if (!isObject(part) || typeof part['type'] !== 'string') return false;
  return part['type'] !== 'text' || typeof part['text'] === 'string';
}
