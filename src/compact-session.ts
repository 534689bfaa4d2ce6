import { startCompaction } from './attempt/run-attempt.ts';
import type { AttemptHandle, AttemptParams, AttemptServices } from './attempt/types.ts';

/** What a compaction is told: the session's params without a prompt. */
export interface CompactSessionParams extends Omit<AttemptParams, 'prompt'> {
  /** What the person asked to keep or to leave out; handed to an engine that owns compaction. */
  customInstructions?: string;
}

/**
 * An explicit compaction of a session (spec 8): the engine's `compact` when it owns compaction, then the native thread;
 * else the native thread alone. It goes through the attempt machine (bootstrap, then `compacting`);
 * `handle.result` has the report under `compaction`.
 * @throws AttemptError `usage`, `engine_requirements`. Nothing is written then.
 */
export function compactSession(params: CompactSessionParams, services: AttemptServices): AttemptHandle {
  return startCompaction(params, services);
}
