import type { TurnUsage } from '../ports.ts';
import { messageText, type TurnItem } from './turn-items.ts';
import { listOf, objectOf, stringOf, stringsOf } from './wire-values.ts';

/**
 * An item as `codex exec --json` prints it: names in snake_case, `type` in snake_case, plus the fields of its type
 * (`text`; `command`, `aggregated_output`, `exit_code`, `status`; `changes`; `server`, `tool`, `arguments`; …).
 * An item of a type that this program does not know has `id` and `type` alone.
 */
export interface CodexEventItem {
  id: string;
  type: string;
  [field: string]: unknown;
}

/** Usage as `codex exec --json` prints it. */
export interface CodexEventUsage {
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  reasoning_output_tokens: number;
}

/**
 * The public stream of one turn: Codex's own event names and payloads as in `codex exec --json`, in order, each
 * `turn.started` followed by exactly one `turn.completed` or `turn.failed` unless the process went away.
 * Ours are two: `item.delta` (text as it streams; joined deltas need not equal the completed item), and `will_retry` of
 * `error`. `usage` is null when the server reported none.
 */
export type CodexEvent =
  | { type: 'thread.started'; thread_id: string }
  | { type: 'turn.started' }
  | { type: 'item.started' | 'item.updated' | 'item.completed'; item: CodexEventItem }
  | { type: 'item.delta'; item_id: string; kind: 'text' | 'reasoning'; delta: string }
  | { type: 'turn.completed'; usage: CodexEventUsage | null }
  | { type: 'turn.failed'; error: { message: string } }
  | { type: 'error'; message: string; will_retry: boolean };

export function eventUsage(usage: TurnUsage | null): CodexEventUsage | null {
  if (usage === null) return null;
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
    reasoning_output_tokens: usage.reasoningOutputTokens,
  };
}

export function eventItem(item: TurnItem): CodexEventItem {
  const { id, fields } = item;
  switch (item.type) {
    case 'agentMessage':
      return { id, type: 'agent_message', text: messageText(item) };
    case 'reasoning':
      return { id, type: 'reasoning', text: stringsOf(fields['summary']).join('\n\n') };
    case 'plan':
      return { id, type: 'plan', text: stringOf(fields['text']) ?? '' };
    case 'commandExecution':
      return {
        id,
        type: 'command_execution',
        command: stringOf(fields['command']) ?? '',
        aggregated_output: stringOf(fields['aggregatedOutput']) ?? item.streamed,
        exit_code: fields['exitCode'] ?? null,
        status: snakeCase(stringOf(fields['status'])),
      };
    case 'fileChange':
      return {
        id,
        type: 'file_change',
        changes: listOf(fields['changes']).map((change) => ({
          path: stringOf(objectOf(change)['path']) ?? '',
          kind: stringOf(objectOf(objectOf(change)['kind'])['type']) ?? 'update',
        })),
        status: snakeCase(stringOf(fields['status'])),
      };
    case 'mcpToolCall':
      return {
        id,
        type: 'mcp_tool_call',
        server: stringOf(fields['server']) ?? '',
        tool: stringOf(fields['tool']) ?? '',
        arguments: fields['arguments'] ?? null,
        result: fields['result'] ?? null,
        error: fields['error'] ?? null,
        status: snakeCase(stringOf(fields['status'])),
      };
    case 'dynamicToolCall':
      return {
        id,
        type: 'dynamic_tool_call',
        namespace: fields['namespace'] ?? null,
        tool: stringOf(fields['tool']) ?? '',
        arguments: fields['arguments'] ?? null,
        success: fields['success'] ?? null,
        status: snakeCase(stringOf(fields['status'])),
      };
    case 'webSearch':
      return { id, type: 'web_search', query: stringOf(fields['query']) ?? '' };
    default:
      return { id, type: snakeCase(item.type) };
  }
}

function snakeCase(name: string | null): string {
  return (name ?? 'inProgress').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
