import { REDACTED } from '../observe/redact.ts';
import { isSecretName } from '../observe/secret-names.ts';
import type { ToolCallPart } from '../transcript/messages.ts';
import { capText } from './cap-text.ts';
import type { TurnItem } from './turn-items.ts';
import { idOf, listOf, numberOf, objectOf, stringOf } from './wire-values.ts';

/**
 * The toolCall part of an item that is a tool call, named as pi names such tools (`bash`, `apply_patch`, else the
 * tool's own name, with its server or namespace in front); null for other items. Texts are redacted and capped.
 */
export function toolCallOf(item: TurnItem, redact: (text: string) => string, maxChars: number): ToolCallPart | null {
  const { fields } = item;
  const part = (name: string, args: unknown): ToolCallPart => {
    const clean = cleaned(args, redact, maxChars);
    const known = typeof clean === 'object' && clean !== null && !Array.isArray(clean);
    return {
      type: 'toolCall',
      id: item.id,
      name,
      arguments: known ? { ...clean } : clean == null ? {} : { value: clean },
    };
  };
  switch (item.type) {
    case 'commandExecution':
      return part('bash', { command: stringOf(fields['command']) ?? '', cwd: stringOf(fields['cwd']) ?? '' });
    case 'fileChange':
      return part('apply_patch', { changes: changesOf(item) });
    case 'mcpToolCall':
      return part(qualified(fields['server'], fields['tool']), fields['arguments']);
    case 'dynamicToolCall':
      return part(qualified(fields['namespace'], fields['tool']), fields['arguments']);
    default:
      return null;
  }
}

/** Text of the result and whether it is an error. Not redacted and not capped. */
export function toolResultOf(item: TurnItem, toolName: string): { text: string; isError: boolean } {
  const { fields } = item;
  const status = stringOf(fields['status']);
  const lines: string[] = [];
  const output = outputOf(item);
  if (output !== '') lines.push(output);
  if (!item.done) {
    lines.push(`[${toolName} did not finish]`);
    return { text: lines.join('\n'), isError: true };
  }
  const exitCode = numberOf(fields['exitCode']);
  const failed = status === 'failed' || status === 'declined';
  const isError = failed || (exitCode !== null && exitCode !== 0);
  if (exitCode !== null && exitCode !== 0) lines.push(`[exit code ${exitCode}]`);
  if (status === 'declined') lines.push('[declined]');
  if (lines.length === 0) lines.push(isError ? '[failed]' : '[no output]');
  return { text: lines.join('\n'), isError };
}

function outputOf(item: TurnItem): string {
  const { fields } = item;
  switch (item.type) {
    case 'commandExecution':
      return stringOf(fields['aggregatedOutput']) ?? item.streamed;
    case 'fileChange':
      return changesOf(item)
        .map(({ kind, path }) => `${kind} ${path}`)
        .join('\n');
    case 'mcpToolCall':
      return idOf(objectOf(fields['error'])['message']) ?? contentText(objectOf(fields['result'])['content']);
    case 'dynamicToolCall':
      return contentText(fields['contentItems']);
    default:
      return '';
  }
}

function changesOf(item: TurnItem): { path: string; kind: string; diff: string }[] {
  return listOf(item.fields['changes']).map((change) => {
    const from = objectOf(change);
    return {
      path: stringOf(from['path']) ?? '',
      kind: stringOf(objectOf(from['kind'])['type']) ?? 'update',
      diff: stringOf(from['diff']) ?? '',
    };
  });
}

function qualified(group: unknown, tool: unknown): string {
  const name = idOf(tool) ?? 'unknown';
  const prefix = idOf(group);
  return prefix === null ? name : `${prefix}.${name}`;
}

/** Texts of content items; anything else is a placeholder with its type. */
function contentText(content: unknown): string {
  return listOf(content)
    .map((entry) => {
      const from = objectOf(entry);
      return stringOf(from['text']) ?? `[${idOf(from['type']) ?? 'content'}]`;
    })
    .join('\n');
}

/** The value with every text in it redacted and capped, and what stands under the name of a secret hidden. */
function cleaned(value: unknown, redact: (text: string) => string, maxChars: number): unknown {
  if (typeof value === 'string') return capText(redact(value), maxChars);
  if (Array.isArray(value)) return value.map((entry) => cleaned(entry, redact, maxChars));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => {
        const secret = isSecretName(name) && (typeof entry === 'string' || typeof entry === 'number');
        return [name, secret ? REDACTED : cleaned(entry, redact, maxChars)];
      }),
    );
  }
  return value;
}
