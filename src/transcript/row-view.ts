/**
 * Rows as readers get them: parsed anew each time, so that nobody's changes reach another reader.
 */
import { isDeepStrictEqual } from 'node:util';
import type { TranscriptEntry, TranscriptView } from '../ports.ts';
import type { AgentMessage } from './messages.ts';
import type { IndexedEntry, SessionIndex } from './session-index.ts';
import { isAgentMessage, parseObject } from './session-line.ts';

/** What a row without any usable time gets. */
const NO_TIME = new Date(0).toISOString();

/** The visible branch. Parents are the visible ones: each row names the row before it. `leafId`: the last row. */
export function viewOf(index: SessionIndex): TranscriptView {
  const entries: TranscriptEntry[] = [];
  let parentId: string | null = null;
  for (const entry of index.branch()) {
    entries.push(transcriptEntry(entry, parentId, entries.length));
    parentId = entry.viewId;
  }
  return { entries, leafId: parentId };
}

/** One row by itself; `position` is -1 for a row that another branch holds. */
export function entryView(index: SessionIndex, entry: IndexedEntry): TranscriptEntry {
  const branch = index.branch();
  const position = branch.lastIndexOf(entry);
  const parent = position === -1 ? (entry.parentId ?? null) : (branch[position - 1]?.viewId ?? null);
  return transcriptEntry(entry, parent, position);
}

/** The message of a message entry. */
export function messageOfEntry(entry: IndexedEntry): AgentMessage {
  const message = parseObject(entry.text)?.['message'];
  if (!isAgentMessage(message)) throw new TypeError(`entry ${entry.viewId} holds no message`);
  return message;
}

/** Whether two user messages say the same: a text alone equals the same text as the one part of a list. */
export function sameContent(one: AgentMessage, other: AgentMessage): boolean {
  return isDeepStrictEqual(contentParts(one), contentParts(other));
}

function contentParts(message: AgentMessage): unknown {
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
}

function transcriptEntry(entry: IndexedEntry, parentId: string | null, position: number): TranscriptEntry {
  const message = messageOfEntry(entry);
  const stored = parseObject(entry.text)?.['timestamp'];
  return { entryId: entry.viewId, parentId, position, createdAt: createdAt(stored, message), message };
}

function createdAt(stored: unknown, message: AgentMessage): string {
  if (typeof stored === 'string' && !Number.isNaN(Date.parse(stored))) return stored;
  const time = new Date(message.timestamp ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? NO_TIME : time.toISOString();
}
