/**
 * The script of a rehearsal: what the offline model answers, request by request. `--rehearse-script FILE` reads it from
 * JSON; tests build it in code, where a step may also be a function of the request.
 */

import { AttemptError } from '../errors.ts';
import { type Check, integer, list, member, name, noMore, object, oneOf, optional, refuse, string } from './check.ts';
import type { ModelRequestBody } from './request.ts';

/** Tokens of one model request in Codex's counting. What is left out is counted from the lengths of the texts, or 0. */
export interface RehearsalUsage {
  inputTokens?: number;
  cachedInputTokens?: number;
  outputTokens?: number;
  reasoningOutputTokens?: number;
}

/**
 * A tool that the model calls. `arguments` is an object, or a text that is sent as it stands (broken JSON; the input of
 * a free-form tool such as `apply_patch`).
 */
export interface RehearsalToolCall {
  name: string;
  namespace?: string;
  arguments?: Readonly<Record<string, unknown>> | string;
}

/**
 * An error in place of an answer. With `status`: the HTTP response; without a `code` its body is plain text. With
 * `responseFailed`: the stream begins, gives the step's items, and ends with that error code.
 */
export type RehearsalError =
  | { status: number; code?: string; message?: string }
  | { responseFailed: string; message?: string };

/**
 * One answer. Its items come in the order reasoning, commentary, text, tool calls, shell; then the end. A step without
 * items ends at once: an empty answer.
 */
export interface RehearsalStep {
  /** The step waits for a request that fits; without it every request fits. */
  when?: { lastUserIncludes: string };
  /** Summary of a reasoning item. */
  reasoning?: string;
  /** A message on the way, not the answer. */
  commentary?: string;
  /** The final message. */
  text?: string;
  toolCalls?: readonly RehearsalToolCall[];
  /** Commands, called with the shell tool that the request offers. */
  shell?: readonly { command: string }[];
  usage?: RehearsalUsage;
  error?: RehearsalError;
  /**
   * Silence until the client leaves: before the response's head, after the head, or in the middle (of the text, or
   * where there is none, before the end).
   */
  stall?: 'headers' | 'first' | 'mid';
  /** The connection is cut in the middle, as `stall: 'mid'` has it. */
  drop?: boolean;
  /** In how many pieces each text comes; default `DEFAULT_DELTAS`. */
  deltas?: number;
  /** Milliseconds before the response's head and before each piece of text; default 0. */
  delayMs?: number;
}

/** A step, or (in code only) a function that makes one from the request. */
export type RehearsalStepSource = RehearsalStep | ((body: ModelRequestBody) => RehearsalStep);

/**
 * A request takes the first unused step whose `when` fits. `atEnd` says what a request gets that no step is left for:
 * the default answer, the step used last once more, or an error (`rehearsal_script_ended`, HTTP 400). Compaction
 * requests take no step: each gets `compaction`, or the default summary.
 */
export interface RehearsalScript {
  steps: readonly RehearsalStepSource[];
  atEnd?: 'default' | 'repeat-last' | 'fail';
  compaction?: RehearsalStepSource;
}

/** Pieces per text unless a step says otherwise. */
export const DEFAULT_DELTAS = 4;

/** The longest `delayMs`: ten minutes. */
const MAX_DELAY_MS = 600_000;

/**
 * Reads a script from JSON text. Throws AttemptError `usage` naming `source` and the place inside (`steps[2].text`).
 */
export function parseRehearsalScript(json: string, source: string): RehearsalScript {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new AttemptError('usage', `${source} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const check: Check = { source, path: '' };
  const fields = object(check, value);
  const script: RehearsalScript = {
    steps: list(member(check, 'steps'), fields.steps, step),
    ...optional(check, fields, 'atEnd', (at, given) => oneOf(at, given, ['default', 'repeat-last', 'fail'] as const)),
    ...optional(check, fields, 'compaction', step),
  };
  noMore(check, fields, ['steps', 'atEnd', 'compaction']);
  return script;
}

function step(check: Check, value: unknown): RehearsalStep {
  const fields = object(check, value);
  const read: RehearsalStep = {
    ...optional(check, fields, 'when', when),
    ...optional(check, fields, 'reasoning', string),
    ...optional(check, fields, 'commentary', string),
    ...optional(check, fields, 'text', string),
    ...optional(check, fields, 'toolCalls', (at, given) => list(at, given, toolCall)),
    ...optional(check, fields, 'shell', (at, given) => list(at, given, shellCall)),
    ...optional(check, fields, 'usage', usage),
    ...optional(check, fields, 'error', scriptedError),
    ...optional(check, fields, 'stall', (at, given) => oneOf(at, given, ['headers', 'first', 'mid'] as const)),
    ...optional(check, fields, 'drop', (at, given) => oneOf(at, given, [true, false] as const)),
    ...optional(check, fields, 'deltas', (at, given) => integer(at, given, 1, 100_000)),
    ...optional(check, fields, 'delayMs', (at, given) => integer(at, given, 0, MAX_DELAY_MS)),
  };
  const known = ['when', 'reasoning', 'commentary', 'text', 'toolCalls', 'shell', 'usage', 'error', 'stall', 'drop'];
  noMore(check, fields, [...known, 'deltas', 'delayMs']);
  const ends = [read.error, read.stall, read.drop === true ? true : undefined].filter((end) => end !== undefined);
  if (ends.length > 1) refuse(check, 'may have only one of "error", "stall" and "drop"');
  return read;
}

function when(check: Check, value: unknown): { lastUserIncludes: string } {
  const fields = object(check, value);
  noMore(check, fields, ['lastUserIncludes']);
  return { lastUserIncludes: name(member(check, 'lastUserIncludes'), fields.lastUserIncludes) };
}

function toolCall(check: Check, value: unknown): RehearsalToolCall {
  const fields = object(check, value);
  noMore(check, fields, ['name', 'namespace', 'arguments']);
  return {
    name: name(member(check, 'name'), fields.name),
    ...optional(check, fields, 'namespace', name),
    ...optional(check, fields, 'arguments', (at, given) => (typeof given === 'string' ? given : object(at, given))),
  };
}

function shellCall(check: Check, value: unknown): { command: string } {
  const fields = object(check, value);
  noMore(check, fields, ['command']);
  return { command: name(member(check, 'command'), fields.command) };
}

function usage(check: Check, value: unknown): RehearsalUsage {
  const fields = object(check, value);
  const count = (at: Check, given: unknown) => integer(at, given, 0, Number.MAX_SAFE_INTEGER);
  noMore(check, fields, ['inputTokens', 'cachedInputTokens', 'outputTokens', 'reasoningOutputTokens']);
  return {
    ...optional(check, fields, 'inputTokens', count),
    ...optional(check, fields, 'cachedInputTokens', count),
    ...optional(check, fields, 'outputTokens', count),
    ...optional(check, fields, 'reasoningOutputTokens', count),
  };
}

function scriptedError(check: Check, value: unknown): RehearsalError {
  const fields = object(check, value);
  if (Object.hasOwn(fields, 'responseFailed')) {
    noMore(check, fields, ['responseFailed', 'message']);
    return {
      responseFailed: name(member(check, 'responseFailed'), fields.responseFailed),
      ...optional(check, fields, 'message', string),
    };
  }
  noMore(check, fields, ['status', 'code', 'message', 'responseFailed']);
  return {
    status: integer(member(check, 'status'), fields.status, 400, 599),
    ...optional(check, fields, 'code', name),
    ...optional(check, fields, 'message', string),
  };
}
