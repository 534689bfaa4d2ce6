import { type CompactionFacts, reportOf } from '../attempt/compaction-report.ts';
import type { AttemptFault } from '../attempt/types.ts';
import type { CompactionResult, CompactionRunEvent } from '../compact-session.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';

/**
 * The last line of `--json` when a compaction ends without its own word: refused before it began, or ended from inside
 * or by a second Ctrl-C. As a settled one, with what was known by then.
 */
export type UnsettledCompaction = Omit<CompactionResult, 'attemptId' | 'sessionId' | 'error'> & {
  attemptId: string | null;
  sessionId: string | null;
  error: AttemptFault;
};

/** What is known of a compaction while it goes on. */
export interface CompactionSoFar {
  /** Empty while it is not known. */
  sessionFile: string;
  attemptId: string | null;
  sessionId: string | null;
  /** The engine that was loaded owns compaction. */
  ownsCompaction: boolean;
  /** It came as far as `compacting`. */
  hasBegun: boolean;
  /** Here is what it came to, once it has. */
  result: CompactionResult | null;
}

export function newCompaction(): CompactionSoFar {
  return {
    sessionFile: '',
    attemptId: null,
    sessionId: null,
    ownsCompaction: false,
    hasBegun: false,
    result: null,
  };
}

/** Keeps what an event says of the compaction. */
export function noteCompactionEvent(soFar: CompactionSoFar, event: CompactionRunEvent): void {
  if (event.type === 'attempt.started') {
    soFar.attemptId = event.attemptId;
    soFar.sessionId = event.sessionId;
  } else if (event.type === 'attempt.state' && event.state === 'compacting') {
    soFar.hasBegun = true;
  }
}

/** What the compaction came to when it ends with this error now. */
export function compactionEndedBy(error: unknown, soFar: CompactionSoFar): CompactionResult | UnsettledCompaction {
  const { result, ownsCompaction, hasBegun, sessionFile, attemptId, sessionId } = soFar;
  const code = isAttemptError(error) ? error.code : 'internal';
  const fault = { code, message: redact(messageOf(error)) };
  if (result !== null) return { ...result, error: result.error ?? fault };
  return {
    type: 'compaction.settled',
    ...reportOf(hasBegun ? brokenOff(fault, ownsCompaction) : NOT_BEGUN, { isExplicit: true, ownsCompaction }),
    attemptId,
    outcome: code === 'aborted' ? 'aborted' : 'failed',
    sessionFile,
    sessionId,
    degraded: [],
    error: fault,
  };
}

const NOT_BEGUN: CompactionFacts = { tokensBefore: null };

/** Nobody was left to say how far it got. */
function brokenOff({ message }: AttemptFault, ownsCompaction: boolean): CompactionFacts {
  const lost = { ok: false, compacted: false };
  return {
    ...NOT_BEGUN,
    ...(ownsCompaction ? { engine: { ...lost, reason: message } } : {}),
    native: { ...lost, reason: 'aborted', message },
  };
}
