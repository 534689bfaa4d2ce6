import { messagesOf } from '../checks.ts';
import { canonical } from '../data.ts';
import type { HostSession } from '../session.ts';

/** Which marked texts an assembly holds among its messages, each with how often. */
export function words(session: HostSession, answer: unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  const found = canonical(messagesOf(answer)).matchAll(new RegExp(`\\[${session.label}\\.([^\\]]+)\\]`, 'g'));
  for (const [, word = ''] of found) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
