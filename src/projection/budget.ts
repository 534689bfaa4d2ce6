import type { AgentMessage } from '../transcript/messages.ts';

/** Numbers of the projection. Tokens unless the name says characters (UTF-16 units). */
export const PROJECTION_DEFAULTS = {
  charsPerToken: 4,
  /** Left free for the answer, tools and instructions. */
  reserveTokens: 20_000,
  /** The reserve never takes more than leaves this to the context; in a small window, half of it. */
  minContextTokens: 8_000,
  /** While no budget is known. */
  unknownBudgetChars: 24_000,
  maxContextChars: 1_000_000,
  /** One part of a message may have this much even where half of the context is less. */
  minPartChars: 6_000,
} as const;

/** Upper bounds in characters; a result is never over them. */
export interface ProjectionCaps {
  /** Everything between the tags of the wrapper, the mark of a cut included. */
  contextChars: number;
  /** One text part of a message. */
  partChars: number;
  /** All tool calls and results together, so that prose is not crowded out. */
  toolChars: number;
  /** One tool call or result. */
  toolPartChars: number;
}

export interface BudgetOptions {
  /** Tokens of the window that a turn may fill. Absent, zero or not a number: not known. */
  tokenBudget?: number | undefined;
  /** Default `PROJECTION_DEFAULTS.reserveTokens`. */
  reserveTokens?: number | undefined;
}

/**
 * Caps from the token budget: 80_000 → 240_000 characters, 16_000 → 32_000, 500 → 1_000, 1_000_000 → 1_000_000 (the
 * most), not known → 24_000. There is no lower bound: a small window is honoured.
 */
export function projectionCaps({ tokenBudget, reserveTokens }: BudgetOptions): ProjectionCaps {
  const defaults = PROJECTION_DEFAULTS;
  if (tokenBudget === undefined || Number.isNaN(tokenBudget) || tokenBudget <= 0) {
    return capsOfChars(defaults.unknownBudgetChars);
  }
  const most = tokenBudget - Math.min(defaults.minContextTokens, tokenBudget / 2);
  const reserve = Math.min(Math.max(0, reserveTokens ?? defaults.reserveTokens), most);
  const chars = Math.floor((tokenBudget - reserve) * defaults.charsPerToken);
  return capsOfChars(tokenBudget === Infinity ? defaults.maxContextChars : chars);
}

/** All caps from the one for the whole context: half of it for one part, a quarter for tools, a sixteenth for one tool. */
export function capsOfChars(chars: number): ProjectionCaps {
  const contextChars = Math.max(0, Math.min(Math.floor(chars), PROJECTION_DEFAULTS.maxContextChars));
  return {
    contextChars,
    partChars: Math.max(Math.floor(contextChars / 2), Math.min(contextChars, PROJECTION_DEFAULTS.minPartChars)),
    toolChars: Math.floor(contextChars / 4),
    toolPartChars: Math.floor(contextChars / 16),
  };
}

/**
 * Tokens of messages, a quarter of their characters: for engines that report too little or nothing. Counts the text of
 * messages, thinking and summaries, and names, keys and values of tool payloads; images count nothing, their data is
 * never sent. Total: cycles are counted once, anything else than text, numbers and flags counts nothing.
 */
export function estimateTokens(messages: readonly AgentMessage[]): number {
  let chars = 0;
  for (const message of messages) {
    const fields: Readonly<Record<string, unknown>> = { ...message };
    for (const field of ['content', 'summary', 'command', 'output']) chars += textChars(fields[field]);
  }
  return Math.ceil(chars / PROJECTION_DEFAULTS.charsPerToken);
}

function textChars(content: unknown): number {
  let chars = 0;
  const seen = new Set<object>();
  const open: unknown[] = [content];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') chars += value.length;
    else if (typeof value === 'number' || typeof value === 'boolean') chars += String(value).length;
    else if (Array.isArray(value)) {
      if (!seen.has(value)) for (const item of value) open.push(item);
      seen.add(value);
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      const { type, text, thinking, name, arguments: args }: Readonly<Record<string, unknown>> = { ...value };
      if (type === 'image') continue;
      if (type === 'text') open.push(text);
      else if (type === 'thinking') open.push(thinking);
      else if (type === 'toolCall') open.push(name, args);
      else {
        for (const [key, item] of Object.entries(value)) {
          chars += key.length;
          open.push(item);
        }
      }
    }
  }
  return chars;
}
