import { idOf, objectOf, stringOf, type WireObject } from './wire-values.ts';

/** One item of a turn, put together from everything that was said about it. */
export interface TurnItem {
  readonly id: string;
  readonly type: string;
  /** What the latest `item/started` or `item/completed` said; empty when only deltas came. */
  fields: WireObject;
  /** False until `item/completed`. Items of every type may stay open. */
  done: boolean;
  /** Text of an agent message, or output of a command, as streamed so far. */
  streamed: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** When it completed; while open, when it began. */
  endedAt: number;
}

/** Types that may run again without harm. A type that is not known yet counts as having an effect. */
const REPLAY_SAFE: ReadonlySet<string> = new Set([
  'userMessage',
  'hookPrompt',
  'agentMessage',
  'functionCallOutput',
  'plan',
  'reasoning',
  'webSearch',
  'imageView',
  'sleep',
  'contextCompaction',
  'enteredReviewMode',
  'exitedReviewMode',
]);

/** Whether this item, as far as it has come, makes it unsafe to run the turn again. */
export function hasEffect(item: TurnItem): boolean {
  return !REPLAY_SAFE.has(item.type);
}

function isFinalAnswer(item: TurnItem): boolean {
  return (
    item.type === 'agentMessage' && item.fields['phase'] !== 'commentary' && item.fields['phase'] !== 'partial_answer'
  );
}

/** Text of an agent message: the completed one, or what was streamed of an open one. */
export function messageText(item: TurnItem): string {
  return item.done ? (stringOf(item.fields['text']) ?? item.streamed) : item.streamed;
}

/** The items of one turn in the order in which they began. */
export class TurnItems {
  readonly #items = new Map<string, TurnItem>();

  get size(): number {
    return this.#items.size;
  }

  list(): readonly TurnItem[] {
    return [...this.#items.values()];
  }

  /** `item/started`; null when the payload is no item or the item is known already. */
  start(payload: unknown, at: number): TurnItem | null {
    const fields = objectOf(payload);
    const id = idOf(fields['id']);
    const type = idOf(fields['type']);
    if (id === null || type === null) return null;
    const known = this.#items.get(id);
    if (known === undefined) return this.#add(id, type, fields, at);
    if (!known.done) known.fields = fields;
    return null;
  }

  /** `item/completed`; null when the payload is no item or the item was complete already. */
  complete(payload: unknown, at: number): TurnItem | null {
    const fields = objectOf(payload);
    const id = idOf(fields['id']);
    const type = idOf(fields['type']);
    if (id === null || type === null) return null;
    const item = this.#items.get(id) ?? this.#add(id, type, fields, at);
    if (item.done) return null;
    item.fields = fields;
    item.done = true;
    item.endedAt = at;
    return item;
  }

  /** A delta of an item's text or output. The item may not have been announced. */
  stream(id: string, type: string, delta: string, at: number): void {
    const item = this.#items.get(id) ?? this.#add(id, type, {}, at);
    item.streamed += delta;
  }

  /**
   * The agent message that counts although it is open: the last one, when the turn did not complete. An open message
   * that another one followed is the orphan of a stream retry.
   */
  openMessage(): TurnItem | null {
    const last = this.list().findLast((item) => item.type === 'agentMessage');
    return last !== undefined && !last.done && last.streamed !== '' ? last : null;
  }

  /** The last final answer that completed with text. */
  finalMessage(): TurnItem | null {
    return this.list().findLast((item) => item.done && isFinalAnswer(item) && messageText(item) !== '') ?? null;
  }

  #add(id: string, type: string, fields: WireObject, at: number): TurnItem {
    const item: TurnItem = { id, type, fields, done: false, streamed: '', startedAt: at, endedAt: at };
    this.#items.set(id, item);
    return item;
  }
}
