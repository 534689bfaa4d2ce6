/**
 * The pure part of the sliding window: what is shown, what has fallen out, and the digest of the latter. Equal input
 * gives equal output; there is no clock and nothing random in what a model may see.
 */

import type { AgentMessage } from '../transcript/messages.ts';
import { CHARS_PER_TOKEN, estimateTokens, messageChars } from './tokens.ts';

/** A row of the session's visible branch. `message` is null for rows that the engine must not show (heartbeats). */
export interface WindowRow {
  position: number;
  message: AgentMessage | null;
}

/** What fell out of the window: `count` messages, a line for each of the newer ones, `omitted` lines already let go. */
export interface WindowDigest {
  count: number;
  lines: readonly string[];
  omitted: number;
}

/** `rows` are in order of position, all at or behind `digestedTo`; everything before it is in the digest. */
export interface WindowContent {
  digestedTo: number;
  digest: WindowDigest;
  rows: readonly WindowRow[];
}

export const EMPTY_CONTENT: WindowContent = { digestedTo: 0, digest: { count: 0, lines: [], omitted: 0 }, rows: [] };

/** Characters of a message that its line in the digest keeps. */
const LINE_CHARS = 160;

/** The position after the last row that the window knows. */
export function endOf(content: WindowContent): number {
  const last = content.rows.at(-1);
  return last === undefined ? content.digestedTo : last.position + 1;
}

/**
 * The window over a history that the host shows. The host's transcript is the truth: its rows replace ours, rows that it
 * does not have are forgotten, rows that we lack are taken in. Only the digest and hidden rows are our own. A history
 * shorter than what has been digested is another conversation: the window starts over.
 */
export function reconcile(content: WindowContent, history: readonly AgentMessage[]): WindowContent {
  if (content.digestedTo > history.length) return reconcile(EMPTY_CONTENT, history);
  const hidden = new Set(content.rows.filter((row) => row.message === null).map((row) => row.position));
  const rows = history.slice(content.digestedTo).map((message, index): WindowRow => {
    const position = content.digestedTo + index;
    return { position, message: hidden.has(position) ? null : message };
  });
  return { ...content, rows };
}

/** Puts rows at their positions. A row that is there already is replaced: storing a turn twice stores it once. */
export function place(content: WindowContent, rows: readonly WindowRow[]): WindowContent {
  const byPosition = new Map(content.rows.map((row) => [row.position, row]));
  for (const row of rows) if (row.position >= content.digestedTo) byPosition.set(row.position, row);
  return { ...content, rows: [...byPosition.values()].sort((a, b) => a.position - b.position) };
}

export interface RollOptions {
  /** Tokens that rows and digest may have together. */
  limit: number;
  /** Tokens of rows that stay when something has to go. Default: half of `limit`. */
  keep?: number;
  /** Characters that the digest's lines may have together. */
  digestChars: number;
}

/**
 * Fits the window into a limit. While everything fits nothing moves. When it does not, the oldest rows go into the
 * digest until what is left takes `keep` tokens: in large steps and seldom, so that what stands before the newest turn
 * stays the same for many turns (prompt caches, epochs). A tool result is never parted from its call. Rows behind a gap
 * stay until the gap is closed, else the digest would skip what is missing.
 */
export function roll(content: WindowContent, options: RollOptions): WindowContent {
  const { digestChars } = options;
  const trimmed = { ...content, digest: trimDigest(content.digest, digestChars) };
  const gap = content.rows.findIndex((row, index) => row.position !== content.digestedTo + index);
  if (gap !== -1 || tokensOf(trimmed) <= options.limit) return trimmed;
  const keep = options.keep ?? Math.floor(options.limit / 2);
  const cut = cutFor(content.rows, Math.max(0, keep - Math.ceil(digestChars / CHARS_PER_TOKEN)));
  const fallen = content.rows.slice(0, cut).flatMap((row) => row.message ?? []);
  const { count, lines, omitted } = content.digest;
  const digest = {
    count: count + fallen.length,
    lines: [...lines, ...fallen.flatMap((message) => lineOf(message) ?? [])],
    omitted,
  };
  return {
    digestedTo: content.digestedTo + cut,
    digest: trimDigest(digest, digestChars),
    rows: content.rows.slice(cut),
  };
}

/** What the model sees: the digest as the first message, then the rows. Fits `limit` whenever anything can. */
export function view(content: WindowContent, limit: number): AgentMessage[] {
  const rows = content.rows.flatMap((row) => row.message ?? []);
  const messages = [...digestMessages(content.digest), ...rows];
  return estimateTokens(messages) <= limit ? messages : rows;
}

export function tokensOf(content: WindowContent): number {
  return estimateTokens(view(content, Number.POSITIVE_INFINITY));
}

export function digestText({ count, lines, omitted }: WindowDigest): string {
  const head = `[Digest of ${count} earlier message${count === 1 ? '' : 's'}, oldest first]`;
  return [head, ...(omitted > 0 ? [`(${omitted} older lines left out)`] : []), ...lines].join('\n');
}

/** The first index at or after which everything fits `tokens` and no result has lost its call. */
function cutFor(rows: readonly WindowRow[], tokens: number): number {
  const answeredAt = new Map<string, number>();
  rows.forEach((row, index) => {
    if (row.message?.role === 'toolResult') answeredAt.set(row.message.toolCallId, index);
  });
  let chars = rows.reduce((sum, row) => sum + charsOf(row), 0);
  let reach = -1;
  for (const [index, row] of rows.entries()) {
    if (chars <= tokens * CHARS_PER_TOKEN && reach < index) return index;
    chars -= charsOf(row);
    for (const id of callIdsOf(row)) reach = Math.max(reach, answeredAt.get(id) ?? -1);
  }
  return rows.length;
}

function charsOf({ message }: WindowRow): number {
  return message === null ? 0 : messageChars(message);
}

function callIdsOf({ message }: WindowRow): string[] {
  if (message?.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'toolCall' ? part.id : []));
}

function digestMessages(digest: WindowDigest): AgentMessage[] {
  // The timestamp is fixed: the moment of writing must not reach the model.
  return digest.count === 0 ? [] : [{ role: 'user', content: digestText(digest), timestamp: 0 }];
}

function trimDigest(digest: WindowDigest, chars: number): WindowDigest {
  let size = digest.lines.reduce((sum, line) => sum + line.length + 1, 0);
  let gone = 0;
  for (const line of digest.lines) {
    if (size <= chars) break;
    size -= line.length + 1;
    gone += 1;
  }
  return gone === 0 ? digest : { ...digest, lines: digest.lines.slice(gone), omitted: digest.omitted + gone };
}

/** One line for a message, or null: results of tools are counted but not told, their calls are. */
function lineOf(message: AgentMessage): string | null {
  if (message.role !== 'user' && message.role !== 'assistant') return null;
  const parts = typeof message.content === 'string' ? [message.content] : message.content.map(partText);
  const text = parts.join(' ').replace(/\s+/g, ' ').trim();
  if (text === '') return null;
  const line = `- ${message.role}: ${text}`;
  // A cut may fall into a surrogate pair; half of one is no text.
  return line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function partText(part: { type: string; text?: string; name?: string }): string {
  if (part.type === 'text') return part.text ?? '';
  if (part.type === 'toolCall') return `(called ${part.name ?? 'a tool'})`;
  return part.type === 'image' ? '(an image)' : '';
}
