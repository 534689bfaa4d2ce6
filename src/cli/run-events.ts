import type { AttemptResult, AttemptRunEvent } from '../attempt/types.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';

/** The last line of `--json` when a run is refused before an attempt exists: as an attempt's, with no ids and states. */
export type RefusedRun = Omit<AttemptResult, 'attemptId' | 'sessionId' | 'error'> & {
  attemptId: null;
  sessionId: null;
  error: NonNullable<AttemptResult['error']>;
};

/** A line of NDJSON. Messages about what went wrong hold no secrets. */
export function eventLine(event: AttemptRunEvent): string {
  if ('message' in event) return `${JSON.stringify({ ...event, message: redact(event.message) })}\n`;
  if ('error' in event && event.error !== undefined) {
    return `${JSON.stringify({ ...event, error: { ...event.error, message: redact(event.error.message) } })}\n`;
  }
  return `${JSON.stringify(event)}\n`;
}

/** What a refused run came to. `sessionFile` is empty when it was not known yet. */
export function refusedRun(error: unknown, sessionFile: string): RefusedRun {
  const code = isAttemptError(error) ? error.code : 'internal';
  return {
    type: 'attempt.settled',
    attemptId: null,
    outcome: code === 'aborted' ? 'aborted' : 'failed',
    states: [],
    text: '',
    sessionFile,
    sessionId: null,
    threadId: null,
    turnId: null,
    usage: null,
    degraded: [],
    finalization: { method: 'none', ok: true, reason: 'not-accepted' },
    maintenance: { ran: false, reason: code === 'aborted' ? 'aborted' : 'failed-turn' },
    replaySafe: true,
    deniedApprovals: [],
    error: { code, message: redact(messageOf(error)) },
  };
}
