/** The process in which an engine is examined: it is told its assignment once, and tells what it finds. */
import { examine } from './examine.ts';
import type { Assignment, News } from './news.ts';

const tell = (news: News): void => {
  // A parent that is gone wants to hear nothing.
  if (process.connected) process.send?.(news);
};

// A stop of the whole command reaches this process too; whoever started it ends it, and says why.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => process.exit(0));
process.once('message', (assignment: Assignment) => {
  void examine(assignment, tell);
});
