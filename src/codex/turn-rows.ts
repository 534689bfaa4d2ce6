import type { TranscriptRow } from '../ports.ts';
import { itemKey } from '../transcript/keys.ts';
import type { AssistantMessage, MessageUsage, ToolCallPart } from '../transcript/messages.ts';
import { capText } from './cap-text.ts';
import { toolCallOf, toolResultOf } from './tool-rows.ts';
import { messageText, type TurnItem } from './turn-items.ts';
import { addUsage, type RequestUsage, toEngineUsage } from './usage.ts';
import { stringOf, stringsOf } from './wire-values.ts';

/** Longest raw output, argument or diff in a row, in UTF-16 units, before the note about what is missing. */
const MAX_RAW_CHARS = 16_000;

export interface RowContext {
  threadId: string;
  turnId: string;
  provider: string;
  model: string;
  api: string;
  redact: (text: string) => string;
}

/** A model request's usage and how many items had begun when it was reported. */
export interface UsageMark {
  items: number;
  usage: RequestUsage;
}

/** How the rows of a turn close: `stop`, or why it ended early. */
export interface RowsEnd {
  stopReason: 'stop' | 'aborted' | 'error';
  errorMessage: string | null;
  /** When the turn ended, in milliseconds since the epoch. */
  at: number;
  /** The open agent message that counts, or null. */
  openMessage: TurnItem | null;
}

interface DraftRow {
  row: TranscriptRow;
  /** Place of its item in the turn. */
  index: number;
}

/**
 * The rows of one turn, in the order in which its items began, in the shapes that pi writes:
 * - an agent message (commentary too, it is what the model said) is an assistant row with a text part;
 * - a command, file change, MCP call or dynamic tool call is an assistant row with one toolCall part, and next to it its
 *   toolResult row; a call that did not finish gets a result that says so;
 * - reasoning stands as a thinking part at the head of the assistant row that it led to, or in a row of its own;
 * - a plan is an assistant row; web searches, images and other items leave no row.
 * The last assistant row says how the turn ended. When that row is a tool call and the turn ended early, an empty
 * assistant row says it, since readers of such sessions leave out an errored row together with its tool call.
 * Usage stands on the row that its model request gave, so rows add up to the turn and the last one is the last request.
 */
export function turnRows(
  items: readonly TurnItem[],
  marks: readonly UsageMark[],
  end: RowsEnd,
  context: RowContext,
): TranscriptRow[] {
  const rows: DraftRow[] = [];
  let thoughts: TurnItem[] = [];
  const push = (index: number, itemId: string, kind: string, message: TranscriptRow['message']) =>
    rows.push({ index, row: { idempotencyKey: itemKey(context.threadId, context.turnId, itemId, kind), message } });
  const assistant = (parts: AssistantMessage['content'], at: number): AssistantMessage => {
    const content = [...thoughts.map(thinkingPart), ...parts];
    thoughts = [];
    return {
      role: 'assistant',
      content,
      api: context.api,
      provider: context.provider,
      model: context.model,
      usage: NO_USAGE,
      stopReason: parts.some((part) => part.type === 'toolCall') ? 'toolUse' : 'stop',
      timestamp: at,
    };
  };

  items.forEach((item, index) => {
    if (item.type === 'reasoning') {
      if (thinkingText(item) !== '') thoughts.push(item);
      return;
    }
    const text = rowText(item, end.openMessage);
    if (text !== '') {
      const kind = item.type === 'plan' ? 'plan' : 'assistant';
      push(index, item.id, kind, assistant([{ type: 'text', text }], item.endedAt));
      return;
    }
    const call = toolCallOf(item, context.redact, MAX_RAW_CHARS);
    if (call === null) return;
    push(index, item.id, 'toolCall', assistant([call], item.startedAt));
    push(index, item.id, 'toolResult', {
      role: 'toolResult',
      toolCallId: call.id,
      toolName: call.name,
      ...resultOf(item, call, context),
      timestamp: item.endedAt,
    });
  });
  const trailing = thoughts.at(-1);
  if (trailing !== undefined) push(items.length - 1, trailing.id, 'reasoning', assistant([], trailing.endedAt));

  if (end.stopReason !== 'stop' && lastAssistant(rows)?.stopReason === 'toolUse') {
    push(items.length, 'turn', 'assistant', assistant([], end.at));
  }
  const last = lastAssistant(rows);
  if (last !== null && last.stopReason !== 'toolUse') {
    last.stopReason = end.stopReason;
    if (end.errorMessage !== null) last.errorMessage = end.errorMessage;
  }
  spreadUsage(rows, marks);
  return rows.map(({ row }) => row);
}

const NO_USAGE: MessageUsage = usageOf(null);

function usageOf(usage: RequestUsage | null): MessageUsage {
  const { total, ...tokens } =
    usage === null ? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } : toEngineUsage(usage);
  return { ...tokens, totalTokens: total, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
}

function rowText(item: TurnItem, openMessage: TurnItem | null): string {
  if (item.type === 'plan') return item.done ? (stringOf(item.fields['text']) ?? '') : '';
  if (item.type !== 'agentMessage') return '';
  return item.done || item === openMessage ? messageText(item) : '';
}

function resultOf(item: TurnItem, call: ToolCallPart, context: RowContext) {
  const { text, isError } = toolResultOf(item, call.name);
  return { content: [{ type: 'text' as const, text: capText(context.redact(text), MAX_RAW_CHARS) }], isError };
}

function thinkingPart(item: TurnItem) {
  return { type: 'thinking' as const, thinking: thinkingText(item) };
}

/** The summary; models that give their reasoning openly have no summary but content. */
function thinkingText(item: TurnItem): string {
  const summary = stringsOf(item.fields['summary']).join('\n\n');
  return summary === '' ? stringsOf(item.fields['content']).join('\n\n') : summary;
}

function lastAssistant(rows: readonly DraftRow[]): AssistantMessage | null {
  const message = rows.findLast(({ row }) => row.message.role === 'assistant')?.row.message;
  return message?.role === 'assistant' ? message : null;
}

/** Each request's usage goes to the last assistant row that had begun when it was reported, else to the first. */
function spreadUsage(rows: readonly DraftRow[], marks: readonly UsageMark[]): void {
  const sums = new Map<AssistantMessage, RequestUsage>();
  const messages = rows.flatMap(({ index, row }) =>
    row.message.role === 'assistant' ? [{ index, message: row.message }] : [],
  );
  for (const { items, usage } of marks) {
    const target = messages.findLast(({ index }) => index < items) ?? messages[0];
    if (target === undefined) return;
    const before = sums.get(target.message);
    sums.set(target.message, before === undefined ? usage : addUsage(before, usage));
  }
  for (const [message, usage] of sums) message.usage = usageOf(usage);
}
