import type { CompactionHookEvent } from '../ports.ts';
import { runNotifyHook } from './hook-calls.ts';
import { type AttemptRecord, historyOf } from './record.ts';

/** `before_compaction` and `after_compaction` of one compaction: always in pairs, also when nothing was compacted. */
export interface CompactionHooks {
  before(signal: AbortSignal): Promise<void>;
  after(signal: AbortSignal, compactedCount: number): Promise<void>;
}

/**
 * The hooks around one compaction. `compactedCount` is 1 when the engine compacted, -1 when Codex did: it does not say
 * how many messages went.
 */
export function compactionHooks(
  record: AttemptRecord,
  state: string,
  backend: CompactionHookEvent['backend'],
): CompactionHooks {
  const event = {
    sessionFile: record.services.session.transcript.sessionFile,
    backend,
    messageCount: historyOf(record).messages.length,
  };
  return {
    before: (signal) => runNotifyHook(record, state, 'before_compaction', signal, event),
    after: (signal, compactedCount) =>
      runNotifyHook(record, state, 'after_compaction', signal, { ...event, compactedCount }),
  };
}
