import type { AttemptFault, AttemptRunEvent } from '../attempt/types.ts';
import type { CompactionRunEvent } from '../compact-session.ts';
import { redact } from '../observe/redact.ts';
import type { UnsettledCompaction } from './compact-events.ts';
import type { UnsettledRun } from './run-events.ts';

/** A line of NDJSON. Messages about what went wrong hold no secrets. */
export function eventLine(event: AttemptRunEvent | CompactionRunEvent | UnsettledRun | UnsettledCompaction): string {
  if ('message' in event) return `${JSON.stringify({ ...event, message: redact(event.message) })}\n`;
  if ('error' in event && event.error !== undefined)
    return `${JSON.stringify({ ...event, error: clean(event.error) })}\n`;
  return `${JSON.stringify(event)}\n`;
}

function clean<Fault extends Pick<AttemptFault, 'message'>>(fault: Fault): Fault {
  return { ...fault, message: redact(fault.message) };
}
