/**
 * The trace of one attempt: `trace.ndjson`, one event per line, for the visualizer, telemetry and tests alike (design 6).
 */

import { appendFileSync, closeSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import type { Clock, TraceEvent, TraceSink } from '../ports.ts';
import { openPrivateFile } from './private-file.ts';
import { traceFields } from './trace-fields.ts';

/** The format's version, in the header line. */
export const TRACE_VERSION = 1;

/** Types of trace events. Public: a change is a breaking change. */
export const TRACE_EVENT_TYPES = [
  /** `{version, attemptId, startedAt}`: the header, always the first line; `startedAt` is in ms since the epoch. */
  'trace.start',
  'attempt.start',
  /** `{state}`: the whole id (`bootstrap.reading`); one per visit, nested states too. */
  'state.enter',
  /** `{state, durationMs}` */
  'state.exit',
  /** `{method, durationMs, ok}` */
  'engine.call',
  /** `{engineId, reason}`: a sentence that was logged too. */
  'engine.warning',
  /** `{thread, reason, promptChars, clippedChars, clippedMessages}`: the thread's plan, and what was cut. */
  'projection',
  /** `{hook, durationMs, ok}` */
  'hook.call',
  /** `{method, durationMs, ok}` */
  'codex.request',
  /** `{method}` */
  'codex.notification',
  /** `{phase, ownsCompaction}` */
  'compaction.native',
  /** `{tool, callId, ok, durationMs}` */
  'tool.call',
  /** `{state, code, reason}` */
  'degraded',
  /** `{outcome, states, threadId, turnId, usage, finalization, maintenance, code?}`: the last line. */
  'attempt.settled',
] as const;

/** A line as written: the event, its number from 0, and the milliseconds since the trace began. */
export interface TraceLine extends TraceEvent {
  seq: number;
  at: number;
}

export interface TraceOptions {
  /** Replaced when it exists; mode 0600. Default: no file, listeners only. */
  file?: string;
  /** Keeps prompt and transcript text, redacted. Default false. */
  includeText?: boolean;
  clock: Clock;
  attemptId: string;
  /** Told once, at the first thing that went wrong (opening, writing, a listener that threw). Default: nobody. */
  onError?: (message: string) => void;
}

export interface Trace extends TraceSink {
  /** Listeners get every line from now on, as written; the returned function takes the listener away. */
  onEvent(listener: (line: TraceLine) => void): () => void;
}

/**
 * Starts a trace. Lines are written as they come, so that a killed process leaves all of them but the last. Nothing here
 * throws: a trace that cannot be written is reported and given up, the attempt goes on.
 */
export function createTrace(options: TraceOptions): Trace {
  const { clock, attemptId, includeText = false } = options;
  const startedAt = clock.now();
  const listeners = new Set<(line: TraceLine) => void>();
  let fd: number | null = null;
  let seq = 0;
  let at = 0;
  let open = true;
  let reported = false;

  const report = (what: string, error: unknown) => {
    if (reported) return;
    reported = true;
    options.onError?.(`${what}: ${messageOf(error)}`);
  };
  const write = (text: string) => {
    if (fd === null) return;
    try {
      appendFileSync(fd, text);
    } catch (error) {
      report(`The trace stops here, ${options.file} cannot be written`, error);
      closeFile();
    }
  };
  const closeFile = () => {
    if (fd === null) return;
    const closing = fd;
    fd = null;
    try {
      closeSync(closing);
    } catch (error) {
      report(`The trace ${options.file} did not close`, error);
    }
  };
  const emit = (event: TraceEvent) => {
    if (!open) return;
    const { type, ...fields } = event;
    // A clock that is set back must not turn the order around.
    at = Math.max(at, clock.now() - startedAt);
    const line: TraceLine = { seq, at, type, ...traceFields(fields, includeText) };
    seq += 1;
    write(`${JSON.stringify(line)}\n`);
    for (const listener of [...listeners]) {
      try {
        listener(line);
      } catch (error) {
        report('A trace listener failed', error);
      }
    }
  };

  if (options.file !== undefined) {
    try {
      fd = openPrivateFile(options.file, 'w');
    } catch (error) {
      report(`There is no trace, ${options.file} cannot be opened`, error);
    }
  }
  emit({ type: 'trace.start', version: TRACE_VERSION, attemptId, startedAt });

  return {
    emit,
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      open = false;
      closeFile();
    },
  };
}
