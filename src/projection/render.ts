/**
 * Messages of an assembly or of the mirror as quoted text. One message is a role line and a body:
 *
 *     [assistant]
 *     I will look.
 *     tool call: read_file [input omitted]
 *
 * Thinking and hidden rows vanish, and so does a message of which nothing is left. Images are `[image omitted]`. Roles
 * that are not known stand under `[other]`.
 */

import type { AgentMessage } from '../transcript/messages.ts';
import type { ProjectionCaps } from './budget.ts';
import { CHARS, type ContextBlock, keepNewest, wellFormed } from './cut.ts';
import { neutralise } from './neutralise.ts';
import { shapeOf, stableJson } from './payload.ts';

/**
 * `elide` (per_turn): tool calls and results are named, their content is left out. `preserve` (thread_bootstrap): a
 * call shows the shape of its input, a result its text, redacted.
 */
export type ToolPayload = 'elide' | 'preserve';

export interface RenderOptions {
  /** The current request; its own row is not repeated. `key` is the row's idempotency key, where it has one. */
  prompt: { text: string; key?: string | undefined };
  caps: ProjectionCaps;
  toolPayload: ToolPayload;
  /** Takes secrets out of a tool result. Called on the whole text, before any cut. */
  redact: (text: string) => string;
}

/** `blocks`: oldest first. The counts: what the caps of parts and tools took away, and messages of which nothing is left. */
export interface RenderedMessages {
  blocks: readonly ContextBlock[];
  /** Characters that are gone without a mark of their own; the mark at the top of the context must name them. */
  unmarkedChars: number;
  /** Characters that are gone behind a mark in the message. */
  markedChars: number;
  droppedMessages: number;
}

/**
 * One piece of a body. A note stands for something that is no text and stays when the text goes. A tool piece has two
 * forms: its name with the payload, or, in `elide` (`payload` null) and when the share of tools runs out, with `short`.
 */
type Piece =
  | { kind: 'prose'; text: string }
  | { kind: 'note'; text: string }
  | { kind: 'tool'; name: string; short: string; payload: string | null };

type Fields = Readonly<Record<string, unknown>>;

const IMAGE = '[image omitted]';
const MAX_NAME_CHARS = 256;
const ROLES = new Set([
  'user',
  'assistant',
  'toolResult',
  'custom',
  'branchSummary',
  'compactionSummary',
  'bashExecution',
]);

/**
 * A row that is no part of the conversation: runtime context that a host adds for one turn, rows not meant to be shown,
 * shell runs that the user kept to himself. It does not reach the model (BL-18), whatever an engine returns.
 */
export function isHiddenMessage(message: AgentMessage): boolean {
  const { role, customType, display, excludeFromContext }: Fields = { ...message };
  if (role === 'bashExecution') return excludeFromContext === true;
  if (role !== 'custom') return false;
  return display === false || (typeof customType === 'string' && /(?:^|[.:/])runtime-context$/.test(customType));
}

/** Renders from the newest message to the oldest, so that the newest tools get the share of tools. Linear. */
export function renderMessages(messages: readonly AgentMessage[], options: RenderOptions): RenderedMessages {
  const tools = new ToolShare(options.caps);
  const blocks: ContextBlock[] = [];
  let markedChars = 0;
  let droppedMessages = 0;
  let isTail = true;
  /** What newer messages take. Once they fill the context, an older one is counted as it is: it cannot be kept. */
  let newerChars = 0;
  for (let i = messages.length - 1; i >= 0; i -= 1) {
    const message = messages[i];
    if (typeof message !== 'object' || message === null || isHiddenMessage(message)) continue;
    let pieces = piecesOf(message, options);
    if (pieces.length === 0) continue;
    if (isCurrentPrompt(message, isTail, options.prompt)) pieces = pieces.filter((piece) => piece.kind !== 'prose');
    isTail = false;
    if (pieces.length === 0) continue;

    const quote = newerChars > options.caps.contextChars ? asItIs : neutralise;
    const lines: string[] = [];
    // From the last to the first, as the messages: the share of tools goes to the newest.
    for (const piece of pieces.reverse()) {
      if (piece.kind === 'note') lines.push(quote(piece.text));
      else if (piece.kind === 'prose') {
        const cut = keepNewest(quote(piece.text), options.caps.partChars, CHARS);
        markedChars += cut.omittedChars;
        lines.push(cut.text);
      } else {
        lines.push(tools.take(piece));
      }
    }
    const body = lines
      .filter((line) => line !== '')
      .reverse()
      .join('\n');
    newerChars += body.length;
    if (body === '') droppedMessages += 1;
    else blocks.push({ head: `[${ROLES.has(message.role) ? message.role : 'other'}]\n`, body });
  }
  return {
    blocks: blocks.reverse(),
    unmarkedChars: tools.unmarkedChars,
    markedChars: markedChars + tools.markedChars,
    droppedMessages,
  };
}

function asItIs(text: string): string {
  return text;
}

/**
 * The room that tools share (BL-14: prose first). From the newest on: whole payloads while there is room, then names
 * alone, then nothing, and never more again for an older one.
 */
class ToolShare {
  unmarkedChars = 0;
  markedChars = 0;
  private readonly partChars: number;
  private room: number;
  private stage: 'payload' | 'short' | 'nothing' = 'payload';

  constructor(caps: ProjectionCaps) {
    this.partChars = caps.toolPartChars;
    this.room = caps.toolChars;
  }

  /** The text of the piece as far as there is room for it. */
  take(piece: Piece & { kind: 'tool' }): string {
    const name = neutralise(piece.name);
    if (piece.payload !== null && this.stage === 'payload') {
      const payload = keepNewest(neutralise(piece.payload), this.partChars, CHARS);
      const text = payload.text === '' ? name : `${name}\n${payload.text}`;
      const fits = text.length <= this.room && (payload.text !== '' || piece.payload === '');
      if (fits) {
        this.room -= text.length;
        this.markedChars += payload.omittedChars;
        return text;
      }
      this.stage = 'short';
    }
    const text = `${name} ${piece.short}`;
    const payloadChars = piece.payload?.length ?? 0;
    if (this.stage !== 'nothing' && text.length <= this.room) {
      this.room -= text.length;
      this.markedChars += payloadChars;
      return text;
    }
    this.stage = 'nothing';
    this.unmarkedChars += text.length + payloadChars;
    return '';
  }
}

/** Whether `message` is the row of the current request. A row with a key is known by it, any other by its text. */
function isCurrentPrompt(message: AgentMessage, isTail: boolean, prompt: RenderOptions['prompt']): boolean {
  if (message.role !== 'user') return false;
  if (prompt.key !== undefined && typeof message.idempotencyKey === 'string') {
    return message.idempotencyKey === prompt.key;
  }
  const text = prompt.text.trim();
  return isTail && text !== '' && wellFormed(proseOf(message.content)) === wellFormed(text);
}

function proseOf(content: unknown): string {
  const texts = partsOf(content).flatMap((part) => (typeof part === 'string' ? [part] : (textOf(part) ?? [])));
  return texts.join('\n').trim();
}

function piecesOf(message: AgentMessage, options: RenderOptions): Piece[] {
  const fields: Fields = { ...message };
  switch (message.role) {
    case 'toolResult':
      return [toolResult(fields, fields['content'], options)];
    case 'compactionSummary':
    case 'branchSummary':
      return partsOf(fields['summary'] ?? fields['content']).flatMap((part) => piecesOfPart(part, options));
    case 'bashExecution':
      return [
        toolCall('bash', { command: fields['command'] }, options),
        toolResult({ toolName: 'bash' }, fields['output'], options),
      ];
    default:
      return partsOf(fields['content']).flatMap((part) => piecesOfPart(part, options));
  }
}

/** Content is a text, a list of parts or, from a careless engine, one part. */
function partsOf(content: unknown): readonly unknown[] {
  if (content === undefined || content === null) return [];
  return Array.isArray(content) ? content : [content];
}

function textOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { type, text }: Fields = { ...part };
  return (type === 'text' || type === undefined) && typeof text === 'string' ? text : undefined;
}

function piecesOfPart(part: unknown, options: RenderOptions): Piece[] {
  const text = typeof part === 'string' ? part : textOf(part);
  if (text !== undefined) {
    const prose = wellFormed(text).trim();
    return prose === '' ? [] : [{ kind: 'prose', text: prose }];
  }
  if (typeof part !== 'object' || part === null) return [];
  const fields: Fields = { ...part };
  switch (fields['type']) {
    case 'thinking':
    case 'redacted_thinking':
    case 'reasoning':
      return [];
    case 'image':
    case 'image_url':
    case 'input_image':
      return [{ kind: 'note', text: IMAGE }];
    case 'toolCall':
    case 'toolUse':
    case 'tool_use':
    case 'functionCall':
      return [toolCall(fields['name'], fields['arguments'] ?? fields['input'], options)];
    case 'toolResult':
    case 'tool_result':
      return [toolResult(fields, fields['content'], options)];
    default:
      return [{ kind: 'note', text: `[${oneLine(fields['type'], 'unknown')} content omitted]` }];
  }
}

function toolCall(name: unknown, input: unknown, { toolPayload }: RenderOptions): Piece {
  return {
    kind: 'tool',
    name: `tool call: ${oneLine(name, 'unknown')}`,
    short: '[input omitted]',
    payload: toolPayload === 'preserve' ? `input shape: ${wellFormed(shapeOf(input ?? {}))}` : null,
  };
}

function toolResult(fields: Fields, content: unknown, { toolPayload, redact }: RenderOptions): Piece {
  const id = fields['toolCallId'] ?? fields['toolUseId'] ?? fields['tool_use_id'] ?? fields['toolName'];
  return {
    kind: 'tool',
    name: `tool result: ${oneLine(id, 'unknown')}`,
    short: '[content omitted]',
    payload: toolPayload === 'preserve' ? wellFormed(redact(resultText(content))).trim() : null,
  };
}

/** The text of a result. Data that is no text part is written as JSON with its keys in order (W1). */
function resultText(content: unknown): string {
  const texts = partsOf(content).map((part) => {
    if (typeof part === 'string') return part;
    if (typeof part === 'object' && part !== null && 'type' in part && part.type === 'image') return IMAGE;
    return textOf(part) ?? stableJson(part);
  });
  return texts.join('\n');
}

/** A name from a row: one line, not longer than a name is. */
function oneLine(value: unknown, fallback: string): string {
  const name = typeof value === 'string' ? wellFormed(value).replace(/\s+/gu, ' ').trim() : '';
  return name === '' ? fallback : [...name.slice(0, MAX_NAME_CHARS * 2)].slice(0, MAX_NAME_CHARS).join('');
}
