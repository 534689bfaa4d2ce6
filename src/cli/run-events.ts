import type { AttemptFault, AttemptResult, AttemptRunEvent } from '../attempt/types.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';

/**
 * The last line of `--json` when a run ends without the word of its attempt: refused before there was one, or ended from
 * inside or by a second Ctrl-C. As an attempt's, with what was known by then.
 */
export type UnsettledRun = Omit<AttemptResult, 'attemptId' | 'sessionId' | 'error'> & {
  attemptId: string | null;
  sessionId: string | null;
  error: AttemptFault;
};

/** What is known of a run while it goes on. */
export interface RunSoFar {
  /** Empty while it is not known. */
  sessionFile: string;
  attemptId: string | null;
  sessionId: string | null;
  threadId: string | null;
  /** Top-level states, one entry per visit. */
  states: string[];
  /** The text so far is in the session at most; here is what the attempt came to, once it has. */
  result: AttemptResult | null;
}

export function newRun(): RunSoFar {
  return { sessionFile: '', attemptId: null, sessionId: null, threadId: null, states: [], result: null };
}

/** Keeps what an event says of the run. */
export function noteEvent(run: RunSoFar, event: AttemptRunEvent): void {
  if (event.type === 'attempt.started') {
    run.attemptId = event.attemptId;
    run.sessionId = event.sessionId;
  } else if (event.type === 'attempt.state') {
    if (run.states.at(-1) !== event.state) run.states.push(event.state);
  } else if (event.type === 'thread.started') {
    run.threadId = event.thread_id;
  }
}

/** What the run came to when it ends with this error now. */
export function endedBy(error: unknown, run: RunSoFar): AttemptResult | UnsettledRun {
  const code = isAttemptError(error) ? error.code : 'internal';
  const fault = { code, message: redact(messageOf(error)) };
  if (run.result !== null) return { ...run.result, error: run.result.error ?? fault };
  const outcome = code === 'aborted' ? 'aborted' : 'failed';
  const hadTurn = run.states.includes('turning');
  return {
    type: 'attempt.settled',
    attemptId: run.attemptId,
    outcome,
    states: run.states.length === 0 ? [] : [...run.states, outcome],
    text: '',
    sessionFile: run.sessionFile,
    sessionId: run.sessionId,
    threadId: run.threadId,
    turnId: null,
    usage: null,
    degraded: [],
    finalization: hadTurn
      ? { method: 'none', ok: false, reason: 'not-finalized' }
      : { method: 'none', ok: true, reason: 'not-accepted' },
    maintenance: { ran: false, reason: code === 'aborted' ? 'aborted' : 'failed-turn' },
    replaySafe: !hadTurn,
    deniedApprovals: [],
    error: fault,
  };
}
