/**
 * Turns a step of the script into what goes over the wire. Pure: ids are made from the request's text and the number of
 * the scripted answer, so that two answers never share an item id and a repeated rehearsal gives the same bytes.
 */

import { createHash } from 'node:crypto';
import { advertisedTool, inputTexts, type ModelRequestBody } from './request.ts';
import { DEFAULT_DELTAS, type RehearsalStep, type RehearsalToolCall, type RehearsalUsage } from './script.ts';
import {
  completed,
  created,
  cutText,
  failed,
  itemDone,
  messageEvents,
  type OutputItem,
  type ResponsesEvent,
  reasoningEvents,
} from './sse.ts';

/** A response that is no stream. */
export interface HttpAnswer {
  kind: 'http';
  status: number;
  contentType: string;
  body: string;
}

/** `cut` says after how many events the stream stops short; null: it is sent whole. */
export interface StreamAnswer {
  kind: 'stream';
  events: readonly ResponsesEvent[];
  cut: number | null;
}

export type WireAnswer = HttpAnswer | StreamAnswer;

/** Characters per token in the usage figures of the rehearsal. */
const CHARACTERS_PER_TOKEN = 4;

/** Codex's own account of folder, date and zone. Left out of ids: the same rehearsal in another folder gives the same. */
const ENVIRONMENT = 'user\n<environment_context>';

/** `ordinal` is the number of the scripted answer, from 1; null for the default answer. */
export function wireAnswer(step: RehearsalStep, body: ModelRequestBody, ordinal: number | null): WireAnswer {
  if (step.error !== undefined && 'status' in step.error) {
    return httpError(step.error.status, step.error.code, step.error.message);
  }
  const id = createHash('sha256')
    .update(JSON.stringify([ordinal, ...inputTexts(body).filter((text) => !text.startsWith(ENVIRONMENT))]))
    .digest('hex')
    .slice(0, 24);
  const events: ResponsesEvent[] = [created(`resp_${id}`)];
  let index = 0;
  const pieces = (text: string) => cutText(text, step.deltas ?? DEFAULT_DELTAS);
  if (step.reasoning !== undefined) events.push(...reasoningEvents(`rs_${id}_${index}`, index++, step.reasoning));
  if (step.commentary !== undefined) {
    events.push(...messageEvents(`msg_${id}_${index}`, index++, 'commentary', pieces(step.commentary)));
  }
  let middle: number | null = null;
  if (step.text !== undefined) {
    const cut = pieces(step.text);
    if (cut.length > 0) middle = events.length + 1 + Math.ceil(cut.length / 2);
    events.push(...messageEvents(`msg_${id}_${index}`, index++, 'final_answer', cut));
  }
  for (const call of [...(step.toolCalls ?? []), ...(step.shell ?? []).map((one) => shellCall(one.command, body))]) {
    events.push(itemDone(index, callItem(call, `call_${id}_${index}`, body)));
    index += 1;
  }
  middle ??= events.length;
  if (step.error === undefined) {
    events.push(completed(`resp_${id}`, usageOf(step, body)));
  } else {
    const { responseFailed: code, message } = step.error;
    events.push(failed(`resp_${id}`, code, message ?? `Rehearsed failure: ${code}`));
  }
  return { kind: 'stream', events, cut: cutOf(step, middle) };
}

/** An error response. With a code: the API's JSON, the code also as its type. Without: plain text. */
export function httpError(status: number, code?: string, message = `Rehearsed HTTP ${status}`): HttpAnswer {
  if (code === undefined) return { kind: 'http', status, contentType: 'text/plain; charset=utf-8', body: message };
  const body = JSON.stringify({ error: { message, type: code, code } });
  return { kind: 'http', status, contentType: 'application/json', body };
}

function cutOf(step: RehearsalStep, middle: number): number | null {
  if (step.stall === 'headers' || step.stall === 'first') return 0;
  return step.stall === 'mid' || step.drop === true ? middle : null;
}

/** The call of the shell tool that is offered; Codex versions name and shape it differently. */
function shellCall(command: string, body: ModelRequestBody): RehearsalToolCall {
  if (advertisedTool(body, 'exec_command') === undefined) {
    if (advertisedTool(body, 'shell_command') !== undefined) return { name: 'shell_command', arguments: { command } };
    if (advertisedTool(body, 'shell') !== undefined) {
      return { name: 'shell', arguments: { command: ['bash', '-lc', command] } };
    }
  }
  return { name: 'exec_command', arguments: { cmd: command } };
}

function callItem(call: RehearsalToolCall, callId: string, body: ModelRequestBody): OutputItem {
  const given = call.arguments ?? {};
  const input = typeof given === 'string' ? given : JSON.stringify(given);
  if (advertisedTool(body, call.name, call.namespace)?.type === 'custom') {
    return { type: 'custom_tool_call', call_id: callId, name: call.name, input };
  }
  const namespace = call.namespace === undefined ? {} : { namespace: call.namespace };
  return { type: 'function_call', call_id: callId, name: call.name, ...namespace, arguments: input };
}

function usageOf(step: RehearsalStep, body: ModelRequestBody): Required<RehearsalUsage> {
  const said = [step.reasoning, step.commentary, step.text].map((text) => text ?? '').join('');
  return {
    inputTokens: tokens(inputTexts(body).join('')),
    outputTokens: tokens(said),
    cachedInputTokens: 0,
    reasoningOutputTokens: 0,
    ...step.usage,
  };
}

function tokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}
