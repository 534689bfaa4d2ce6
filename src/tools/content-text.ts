import { objectOf } from '../codex/wire-values.ts';

/**
 * The text of a tool's answer in the form of MCP and OpenClaw, `{ content: [{ type: 'text', text }] }`: texts, one line
 * after the other. A part of another type is named and not sent: Codex takes texts here. Null: it is no such list.
 */
export function textOfContent(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const parts = content.map((part: unknown) => partText(objectOf(part)));
  return parts.every((part) => part !== null) ? parts.join('\n') : null;
}

/** Null: no part at all. */
function partText({ type, text }: Readonly<Record<string, unknown>>): string | null {
  if (type === 'text') return typeof text === 'string' ? text : null;
  return typeof type === 'string' ? `[${type} left out: only text is sent to the model]` : null;
}
