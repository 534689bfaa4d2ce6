/**
 * What a person should know about a session file before a run goes on with it.
 */
import { messageOfEntry } from './row-view.ts';
import type { SessionIndex } from './session-index.ts';
import { REHEARSAL_REALM } from './side-folder.ts';

/** One sentence each: a torn last line, unreadable lines, a last answer of the other realm (rehearsed or real). */
export function sessionNotices(path: string, index: SessionIndex, realm: string): string[] {
  const list: string[] = [];
  if (index.remainder === 'torn') {
    const bytes = index.size - index.goodEnd;
    list.push(
      `The last line of ${path} is incomplete (${bytes} bytes) and was left out; the next write takes it away.`,
    );
  }
  if (index.garbageLines > 0) {
    list.push(
      `${index.garbageLines} unreadable line(s) of ${path} were skipped, the first is line ${index.firstGarbageLine}.`,
    );
  }
  const provider = lastProvider(index);
  const isRehearsal = realm === REHEARSAL_REALM;
  if (provider !== null && (provider === REHEARSAL_REALM) !== isRehearsal) {
    list.push(
      isRehearsal
        ? `The last answer in ${path} is a real model's; a rehearsal adds invented ones to it.`
        : `The last answer in ${path} was rehearsed: no model gave it.`,
    );
  }
  return list;
}

/** The provider of the last answer in the visible branch. */
function lastProvider(index: SessionIndex): string | null {
  const branch = index.branch();
  for (let position = branch.length - 1; position >= 0; position -= 1) {
    const entry = branch[position];
    if (entry === undefined) break;
    const message = messageOfEntry(entry);
    if (message.role === 'assistant' && typeof message.provider === 'string') return message.provider;
  }
  return null;
}
