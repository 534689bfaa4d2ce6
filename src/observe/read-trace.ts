/** Reads a trace back and checks what every whole trace holds. */

import { readFile } from 'node:fs/promises';
import { TRACE_VERSION, type TraceLine } from './trace.ts';

/** What a file gave: the lines that could be understood, and how many could not. */
export interface ReadTrace {
  events: TraceLine[];
  /** Lines that are no trace event, a torn last line among them. Empty lines do not count. */
  badLines: number;
}

/** Tolerant: a trace of a killed process is read up to its torn line. Rejects with what the file system says. */
export async function readTrace(file: string): Promise<ReadTrace> {
  const events: TraceLine[] = [];
  let badLines = 0;
  // Lines end with \n alone: the separators U+2028 and U+2029 may stand inside a string.
  for (const text of (await readFile(file, 'utf8')).split('\n')) {
    if (text.trim() === '') continue;
    const event = parseLine(text);
    if (event === null) badLines += 1;
    else events.push(event);
  }
  return { events, badLines };
}

function parseLine(text: string): TraceLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return isTraceLine(value) ? value : null;
}

function isTraceLine(value: unknown): value is TraceLine {
  if (typeof value !== 'object' || value === null) return false;
  const line = value as Partial<Record<string, unknown>>;
  return typeof line.seq === 'number' && typeof line.at === 'number' && typeof line.type === 'string';
}

/**
 * The faults of a trace of a settled attempt, one sentence each; empty: whole. Checked: one header, first; `seq` strictly
 * increasing and `at` never decreasing; one `attempt.start`, one `attempt.settled`, the latter last; exactly one
 * `state.enter` and one `state.exit` per visit of a state; `state` is its whole id.
 */
export function checkTrace(events: readonly TraceLine[]): string[] {
  return [...checkFrame(events), ...checkOrder(events), ...checkVisits(events)];
}

function checkFrame(events: readonly TraceLine[]): string[] {
  const faults: string[] = [];
  const first = events[0];
  if (first?.type !== 'trace.start') faults.push('the first line is not trace.start');
  else if (first.version !== TRACE_VERSION) faults.push(`version ${String(first.version)} is not ${TRACE_VERSION}`);
  for (const type of ['trace.start', 'attempt.start', 'attempt.settled']) {
    const count = events.filter((event) => event.type === type).length;
    if (count !== 1) faults.push(`${count} ${type} in place of 1`);
  }
  if (events.at(-1)?.type !== 'attempt.settled') faults.push('the last line is not attempt.settled');
  return faults;
}

function checkOrder(events: readonly TraceLine[]): string[] {
  const faults: string[] = [];
  let before: TraceLine | undefined;
  for (const event of events) {
    if (before !== undefined && event.seq <= before.seq) faults.push(`seq ${event.seq} follows ${before.seq}`);
    if (before !== undefined && event.at < before.at) faults.push(`at ${event.at} follows ${before.at}`);
    before = event;
  }
  return faults;
}

function checkVisits(events: readonly TraceLine[]): string[] {
  const faults: string[] = [];
  const open: string[] = [];
  for (const event of events) {
    if (event.type !== 'state.enter' && event.type !== 'state.exit') continue;
    const key = String(event.state);
    const index = open.lastIndexOf(key);
    if (event.type === 'state.enter') {
      if (index >= 0) faults.push(`${key} is entered at seq ${event.seq} while it is entered`);
      open.push(key);
    } else if (index < 0) {
      faults.push(`${key} is left at seq ${event.seq} without being entered`);
    } else {
      open.splice(index, 1);
    }
  }
  return [...faults, ...open.map((key) => `${key} is never left`)];
}
