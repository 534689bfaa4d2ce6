import type { Degradation } from '../machines/index.ts';
import { startCompaction } from './attempt/run-attempt.ts';
import type {
  AttemptFault,
  AttemptHandle,
  AttemptParams,
  AttemptResult,
  AttemptRunEvent,
  AttemptServices,
  CompactionReport,
} from './attempt/types.ts';

/** What a compaction is told: the session's params without a prompt. `budgets.compact` bounds each of the two compactions. */
export interface CompactSessionParams extends Omit<AttemptParams, 'prompt' | 'isHeartbeat' | 'citationsMode'> {
  /** What the person asked to keep or to leave out; handed to an engine that owns compaction. */
  customInstructions?: string;
}

/** What a compaction came to (spec 8). `error`: why it failed or was not begun; absent when `ok`. */
export interface CompactionResult extends CompactionReport {
  type: 'compaction.settled';
  attemptId: string;
  /** `completed` when `ok`; `aborted` or `failed` else. */
  outcome: 'completed' | 'aborted' | 'failed';
  sessionFile: string;
  sessionId: string;
  /** Steps beside the compaction that went wrong. */
  degraded: readonly Degradation[];
  error?: AttemptFault;
}

/** Everything that `handle.onEvent` tells; the last one is the result. */
export type CompactionRunEvent = Exclude<AttemptRunEvent, AttemptResult> | CompactionResult;

export interface CompactionHandle {
  readonly attemptId: string;
  /** Settles once, when nothing of the compaction is under way any more. Does not reject for a failed one. */
  readonly result: Promise<CompactionResult>;
  /** Asks it to stop. A native compaction is interrupted. May be called at any time and again. */
  abort(): void;
  /** Listeners are told every event from now on; the returned function takes the listener away. */
  onEvent(listener: (event: CompactionRunEvent) => void): () => void;
}

/**
 * An explicit compaction of a session (spec 8): the engine's `compact` when it owns compaction, then the native thread;
 * else the native thread alone. It goes through the attempt machine: bootstrap, then `compacting`. A session that is in
 * use answers at once with `error.code: "session_busy"`: nothing is queued and no turn is interrupted.
 * @throws AttemptError `usage`, `engine_invalid`, `engine_requirements`. Nothing is written then.
 */
export function compactSession(params: CompactSessionParams, services: AttemptServices): CompactionHandle {
  const handle: AttemptHandle = startCompaction(params, services);
  return {
    attemptId: handle.attemptId,
    result: handle.result.then(resultOf),
    abort: () => handle.abort(),
    onEvent: (listener) =>
      handle.onEvent((event) => listener(event.type === 'attempt.settled' ? resultOf(event) : event)),
  };
}

function resultOf(result: AttemptResult): CompactionResult {
  const { attemptId, outcome, sessionFile, sessionId, degraded, compaction, error } = result;
  return {
    type: 'compaction.settled',
    ...(compaction ?? NO_REPORT),
    attemptId,
    // A compaction has no turn that could yield.
    outcome: outcome === 'yielded' ? 'completed' : outcome,
    sessionFile,
    sessionId,
    degraded,
    ...(error === undefined ? {} : { error }),
  };
}

/** An explicit compaction always has a report. */
const NO_REPORT: CompactionReport = {
  ok: false,
  compacted: false,
  primary: 'native',
  reason: null,
  tokensBefore: null,
  tokensAfter: null,
  details: {},
};
