import type { ModelRequestBody } from '../../src/rehearsal/request.ts';

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

/** What Codex itself says in each request, by the beginning of the text. */
const CODEX_OWN = ['This is a rehearsal:', '<permissions instructions>', '<environment_context>', '<turn_aborted>'];

/**
 * The conversation of a model request in order, one entry per part of a message: its role and its text. Tool calls and
 * their outputs stand with their type. What Codex says on its own is left out.
 */
export function conversationOf(body: ModelRequestBody): [string, string][] {
  return fieldsOf(body.input).flatMap((item): [string, string][] => {
    if (item['type'] !== 'message') {
      const { type, name, output } = item;
      return [[String(type), String(name ?? textOf(output))]];
    }
    return fieldsOf(item['content'])
      .map((part) => String(part['text']))
      .filter((text) => !CODEX_OWN.some((own) => text.startsWith(own)))
      .map((text) => [String(item['role']), text]);
  });
}

function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  return fieldsOf(output)
    .map((part) => String(part['text']))
    .join('\n');
}

/** The texts of one role. */
export function textsOf(body: ModelRequestBody, role: string): string[] {
  return conversationOf(body)
    .filter(([who]) => who === role)
    .map(([, text]) => text);
}

/**
 * A copy in which everything that Codex makes up is masked, by field: ids of items, `client_metadata`,
 * `prompt_cache_key`, and inside `<environment_context>` the date, the zone and the working folder.
 */
export function maskedRequest(body: ModelRequestBody, cwd: string): ModelRequestBody {
  return {
    ...body,
    client_metadata: 'masked',
    prompt_cache_key: 'masked',
    input: fieldsOf(body.input).map((item) => ({
      ...item,
      ...('id' in item ? { id: 'masked' } : {}),
      ...(Array.isArray(item['content'])
        ? { content: fieldsOf(item['content']).map((part) => maskedPart(part, cwd)) }
        : {}),
    })),
  };
}

function maskedPart(part: Fields, cwd: string): Fields {
  const { text } = part;
  if (typeof text !== 'string' || !text.startsWith('<environment_context>')) return part;
  const masked = text
    .replace(/(<current_date>)[^<]*/, '$1masked')
    .replace(/(<timezone>)[^<]*/, '$1masked')
    .replace(`<cwd>${cwd}<`, '<cwd>masked<')
    .replace(`<root>${cwd}<`, '<root>masked<');
  return { ...part, text: masked };
}
