/**
 * Reads the body of a model request as Codex sends it. Total: what is not there reads as empty.
 */

/** A parsed body of `POST /v1/responses`; only `input` and `tools` are read here. */
export interface ModelRequestBody {
  input?: unknown;
  tools?: unknown;
  [field: string]: unknown;
}

/** A tool that the request offers to the model. `type` is `function` or `custom` (free-form input). */
export interface AdvertisedTool {
  name: string;
  type: string;
}

/** The fixed begin of the message with which Codex asks for a summary (Codex's own prompt for local compaction). */
const COMPACTION_PROMPT = 'You are performing a CONTEXT CHECKPOINT COMPACTION';

/** The line before the current request in a projected prompt (spec P3). */
const REQUEST_LABEL = 'Current user request:\n';

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function itemText(item: Fields): string {
  if (typeof item.content === 'string') return item.content;
  const parts = fieldsOf(item.content).map((part) => part.text);
  const output = typeof item.output === 'string' ? [item.output] : fieldsOf(item.output).map((part) => part.text);
  return [...parts, item.arguments, item.input, ...output].filter((text) => typeof text === 'string').join('\n');
}

/** The texts of all input items in order, each with its role or type in front; base instructions included. */
export function inputTexts(body: ModelRequestBody): string[] {
  const instructions = typeof body.instructions === 'string' ? [`instructions\n${body.instructions}`] : [];
  const items = fieldsOf(body.input).map((item) => `${String(item.role ?? item.type)}\n${itemText(item)}`);
  return [...instructions, ...items];
}

/** The texts of the user messages, oldest first. */
export function userTexts(body: ModelRequestBody): string[] {
  return fieldsOf(body.input)
    .filter((item) => item.role === 'user')
    .map(itemText);
}

/** The text of the last user message, or the empty text. */
export function lastUserText(body: ModelRequestBody): string {
  return userTexts(body).at(-1) ?? '';
}

/** What the user asks now: the last user message, without the assembled context that a projection puts before it. */
export function currentRequest(body: ModelRequestBody): string {
  const text = lastUserText(body);
  const label = text.lastIndexOf(`\n${REQUEST_LABEL}`);
  return label < 0 ? text : text.slice(label + 1 + REQUEST_LABEL.length);
}

/** Whether Codex asks for a summary of the conversation. Such a request offers no tools. */
export function isCompactionRequest(body: ModelRequestBody): boolean {
  return lastUserText(body).startsWith(COMPACTION_PROMPT) && fieldsOf(body.tools).length === 0;
}

/** The offered tool of this name, also inside a namespace; undefined: not offered. */
export function advertisedTool(body: ModelRequestBody, name: string, namespace?: string): AdvertisedTool | undefined {
  const offered = fieldsOf(body.tools);
  const group = offered.find((tool) => tool.type === 'namespace' && tool.name === namespace);
  const tools = namespace === undefined ? offered : fieldsOf(group?.tools);
  const found = tools.find((tool) => tool.name === name);
  return found === undefined ? undefined : { name, type: String(found.type) };
}
