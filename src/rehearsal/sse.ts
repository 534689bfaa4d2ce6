/**
 * The server-sent events of the OpenAI Responses API, as far as Codex reads them. Pure: a value in, a value out.
 */

import type { RehearsalUsage } from './script.ts';

/** One event; `type` is also its SSE event name. */
export interface ResponsesEvent {
  type: string;
  [field: string]: unknown;
}

/** An output item of the Responses API (`message`, `reasoning`, `function_call`, `custom_tool_call`). */
export interface OutputItem {
  type: string;
  [field: string]: unknown;
}

/** The wire form of one event. */
export function encodeSse(event: ResponsesEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** `response.created`: the first event of every answer. */
export function created(responseId: string): ResponsesEvent {
  return { type: 'response.created', response: { id: responseId, object: 'response', status: 'in_progress' } };
}

/** An assistant message in deltas. `final_answer` ends a turn's text, `commentary` is said on the way. */
export function messageEvents(
  id: string,
  index: number,
  phase: 'commentary' | 'final_answer',
  pieces: readonly string[],
): ResponsesEvent[] {
  const item = { type: 'message', id, role: 'assistant', phase };
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } },
    ...pieces.map((delta) => ({
      type: 'response.output_text.delta',
      item_id: id,
      output_index: index,
      content_index: 0,
      delta,
    })),
    itemDone(index, { ...item, content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }] }),
  ];
}

/** A reasoning item with one summary part. */
export function reasoningEvents(id: string, index: number, summary: string): ResponsesEvent[] {
  const at = { item_id: id, output_index: index, summary_index: 0 };
  return [
    { type: 'response.output_item.added', output_index: index, item: { type: 'reasoning', id, summary: [] } },
    { type: 'response.reasoning_summary_part.added', ...at },
    { type: 'response.reasoning_summary_text.delta', ...at, delta: summary },
    itemDone(index, { type: 'reasoning', id, summary: [{ type: 'summary_text', text: summary }] }),
  ];
}

/** A finished output item; tool calls need nothing else. */
export function itemDone(index: number, item: OutputItem): ResponsesEvent {
  return { type: 'response.output_item.done', output_index: index, item };
}

/** The orderly end, with the usage of this one request. */
export function completed(responseId: string, usage: Required<RehearsalUsage>): ResponsesEvent {
  return {
    type: 'response.completed',
    response: {
      id: responseId,
      object: 'response',
      status: 'completed',
      usage: {
        input_tokens: usage.inputTokens,
        input_tokens_details: { cached_tokens: usage.cachedInputTokens },
        output_tokens: usage.outputTokens,
        output_tokens_details: { reasoning_tokens: usage.reasoningOutputTokens },
        total_tokens: usage.inputTokens + usage.outputTokens,
      },
    },
  };
}

/** The end by an error inside the stream. */
export function failed(responseId: string, code: string, message: string): ResponsesEvent {
  return {
    type: 'response.failed',
    response: { id: responseId, object: 'response', status: 'failed', error: { code, message } },
  };
}

/**
 * Cuts a text into at most `count` pieces of about equal length, never inside a surrogate pair. An empty text has no
 * piece.
 */
export function cutText(text: string, count: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + size);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end += 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
