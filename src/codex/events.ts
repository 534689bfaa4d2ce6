import { AttemptError, messageOf } from '../errors.ts';
import type { Logger, ServerNotification, TranscriptRow } from '../ports.ts';
import { type CodexEvent, eventItem, eventUsage } from './codex-events.ts';
import { classifyTurnError, type Fault } from './turn-errors.ts';
import { hasEffect, messageText, type TurnItem, TurnItems } from './turn-items.ts';
import { type RowsEnd, turnRows, type UsageMark } from './turn-rows.ts';
import { UsageMeter } from './usage.ts';
import { idOf, listOf, objectOf, stringOf, type WireObject } from './wire-values.ts';

export type { CodexEvent, CodexEventItem, CodexEventUsage } from './codex-events.ts';

/** How the server says that a turn ended. */
export interface TurnCompletion {
  status: 'completed' | 'interrupted' | 'failed';
  fault?: Fault;
}

/** Told once each, except `onEvent` and `onCompaction`. One that throws is logged and disturbs nothing. */
export interface TurnListeners {
  /** The turn runs. Before anything else of the turn, also when `turn/started` itself was lost. */
  onStarted?(turnId: string): void;
  /** `turn/completed`. Nothing else ends a turn: not an answer to an interrupt, not a marker in a message. */
  onCompleted?(completion: TurnCompletion): void;
  /** Something happened that running the turn again would repeat. */
  onEffect?(): void;
  /** The public stream. Nothing after `turn.completed` or `turn.failed`. */
  onEvent?(event: CodexEvent): void;
  /** Codex compacts its own history inside this turn; `failed`: it had not when the turn ended. */
  onCompaction?(phase: 'started' | 'completed' | 'failed', itemId: string): void;
}

export interface ProjectorOptions extends TurnListeners {
  threadId: string;
  attemptId: string;
  /** Milliseconds since the epoch; for the timestamps of rows only. */
  now: () => number;
  /** For rows: `openai` or `rehearsal`. */
  provider: string;
  model: string;
  /** For rows. Default `DEFAULT_API`. */
  api?: string;
  /** Takes secrets out of a text. */
  redact: (text: string) => string;
  /** Default silent. */
  logger?: Logger;
}

/** The name that pi gives to the API which Codex talks to. */
export const DEFAULT_API = 'openai-responses';

/**
 * How the attempt takes the end: `yielded` is an interrupt that a tool asked for, `exited` a process that went away.
 */
export type TurnEnd = 'completed' | 'yielded' | 'interrupted' | 'failed' | 'exited';

export interface TurnSnapshot {
  /** The answer: the last final message; at an early end the last message still open, as far as it came. */
  text: string;
  /** Whether `text` is cut short. */
  partial: boolean;
  rows: TranscriptRow[];
}

/**
 * Turns the app-server's notifications into the facts, the rows and the public events of one turn (spec 2.8, 2.9, M1,
 * M3). It takes every notification of the connection; those of other threads and turns are left out. What comes before
 * the turn's id is known waits for it, in order. A message of an unknown kind or shape changes nothing.
 */
export class CodexAppServerEventProjector {
  readonly usage = new UsageMeter();
  readonly #options: ProjectorOptions;
  readonly #items = new TurnItems();
  readonly #marks: UsageMark[] = [];
  #early: ServerNotification[] = [];
  #turnId: string | null = null;
  #started = false;
  #effect = false;
  #completion: TurnCompletion | null = null;
  #lastAt: number | null = null;

  constructor(options: ProjectorOptions) {
    this.#options = options;
  }

  get turnId(): string | null {
    return this.#turnId;
  }

  /** How the turn ended, or null while it runs. */
  get completion(): TurnCompletion | null {
    return this.#completion;
  }

  /** False once something happened that running the turn again would repeat. */
  get replaySafe(): boolean {
    return !this.#effect;
  }

  /** The answer to `turn/start`: from now on the turn is known. Throws `internal` when it was known as another. */
  bindTurn(turnId: string): void {
    if (this.#turnId === turnId) return;
    if (this.#turnId !== null) throw new AttemptError('internal', 'a projector serves one turn only');
    this.#turnId = turnId;
    const early = this.#early;
    this.#early = [];
    for (const notification of early) this.accept(notification);
  }

  /** Takes one notification. Never throws. */
  accept(notification: ServerNotification): void {
    const params = objectOf(notification.params);
    const threadId = idOf(params['threadId']) ?? idOf(objectOf(params['turn'])['threadId']);
    const turnId = idOf(params['turnId']) ?? idOf(objectOf(params['turn'])['id']);
    if (threadId !== this.#options.threadId || turnId === null) return;
    if (this.#turnId === null) {
      this.#early.push(notification);
      return;
    }
    if (turnId === this.#turnId) this.#project(notification.method, params);
    // A resume repeats the figures of the last turn: the mark that tells this turn's repeats from its news.
    else if (notification.method === USAGE) this.usage.noteEarlier(params['tokenUsage'] ?? params['token_usage']);
  }

  #noteEffect(): void {
    if (this.#effect) return;
    this.#effect = true;
    this.#tell('onEffect', () => this.#options.onEffect?.());
  }

  /** The turn as it stands. May be called again; the same facts give the same bytes. */
  snapshot(end: TurnEnd, message?: string): TurnSnapshot {
    const open = end === 'completed' ? null : this.#items.openMessage();
    const answer = open !== null && open.fields['phase'] !== 'commentary' ? open : this.#items.finalMessage();
    return {
      text: answer === null ? '' : messageText(answer),
      partial: answer !== null && !answer.done,
      rows: this.#rows(this.#rowsEnd(end, open, message)),
    };
  }

  #rows(end: RowsEnd): TranscriptRow[] {
    if (this.#turnId === null) return [];
    const { threadId, provider, model, api = DEFAULT_API, redact } = this.#options;
    const context = { threadId, turnId: this.#turnId, provider, model, api, redact };
    return turnRows(this.#items.list(), this.#marks, end, context);
  }

  #rowsEnd(end: TurnEnd, openMessage: TurnItem | null, message: string | undefined): RowsEnd {
    const at = this.#lastAt ?? 0;
    if (end === 'completed' || end === 'yielded') return { stopReason: 'stop', errorMessage: null, at, openMessage };
    if (end === 'interrupted') return { stopReason: 'aborted', errorMessage: null, at, openMessage };
    const reason = message ?? this.#completion?.fault?.message ?? DEFAULT_REASON[end];
    return { stopReason: 'error', errorMessage: this.#options.redact(reason), at, openMessage };
  }

  #project(method: string, params: WireObject): void {
    this.#lastAt = this.#options.now();
    const at = this.#lastAt;
    switch (method) {
      case 'turn/started':
        this.#start();
        break;
      case 'item/started':
        this.#itemStarted(params['item'], at);
        break;
      case 'item/completed':
        this.#itemCompleted(params['item'], at);
        break;
      case 'item/agentMessage/delta':
        this.#delta(params, 'agentMessage', 'text', at);
        break;
      case 'item/commandExecution/outputDelta':
        this.#delta(params, 'commandExecution', null, at);
        break;
      case 'item/reasoning/summaryTextDelta':
        this.#delta(params, 'reasoning', 'reasoning', at);
        break;
      case USAGE:
        this.#usage(params['tokenUsage'] ?? params['token_usage']);
        break;
      case 'error':
        this.#error(params);
        break;
      case 'turn/completed':
        this.#complete(objectOf(params['turn']), at);
        break;
      default:
    }
  }

  #start(): void {
    if (this.#started || this.#turnId === null) return;
    this.#started = true;
    const turnId = this.#turnId;
    this.#event({ type: 'thread.started', thread_id: this.#options.threadId });
    this.#event({ type: 'turn.started' });
    this.#tell('onStarted', () => this.#options.onStarted?.(turnId));
  }

  /** Never an end: a retry follows, or `turn/completed` does. */
  #error(params: WireObject): void {
    const { message } = classifyTurnError(params['error']);
    this.#event({ type: 'error', message, will_retry: params['willRetry'] === true });
  }

  #itemStarted(payload: unknown, at: number): void {
    this.#start();
    const item = this.#items.start(payload, at);
    if (item !== null) this.#announce(item);
  }

  #itemCompleted(payload: unknown, at: number): void {
    this.#start();
    const known = this.#items.size;
    const item = this.#items.complete(payload, at);
    if (item === null) return;
    if (this.#items.size > known) this.#announce(item);
    if (hasEffect(item)) this.#noteEffect();
    if (item.type === 'contextCompaction') {
      this.usage.compacted();
      this.#tell('onCompaction', () => this.#options.onCompaction?.('completed', item.id));
    }
    if (item.type !== 'userMessage') this.#event({ type: 'item.completed', item: eventItem(item) });
  }

  /** An item was seen for the first time. */
  #announce(item: TurnItem): void {
    if (hasEffect(item)) this.#noteEffect();
    if (item.type === 'contextCompaction') {
      this.#tell('onCompaction', () => this.#options.onCompaction?.('started', item.id));
    }
    // As `codex exec` does: messages and reasoning are told when they are whole.
    if (!TOLD_WHOLE.has(item.type) && !item.done) this.#event({ type: 'item.started', item: eventItem(item) });
  }

  #delta(params: WireObject, type: string, kind: 'text' | 'reasoning' | null, at: number): void {
    const itemId = idOf(params['itemId']);
    const delta = stringOf(params['delta']);
    if (itemId === null || delta === null) return;
    this.#start();
    this.#items.stream(itemId, type, delta, at);
    if (kind !== null) this.#event({ type: 'item.delta', item_id: itemId, kind, delta });
  }

  #usage(tokenUsage: unknown): void {
    const usage = this.usage.accept(tokenUsage);
    const compacting = this.#items.list().some((item) => item.type === 'contextCompaction' && !item.done);
    // What a compaction costs belongs to the turn, but to no row of it.
    if (usage !== null && !compacting) this.#marks.push({ items: this.#items.size, usage });
  }

  #complete(turn: WireObject, at: number): void {
    if (this.#completion !== null) return;
    this.#start();
    for (const payload of listOf(turn['items'])) {
      if (objectOf(payload)['status'] !== 'inProgress') this.#itemCompleted(payload, at);
    }
    for (const item of this.#items.list()) {
      if (item.type === 'contextCompaction' && !item.done) {
        this.#tell('onCompaction', () => this.#options.onCompaction?.('failed', item.id));
      }
    }
    const completion = completionOf(turn);
    this.#event(
      completion.status === 'completed'
        ? { type: 'turn.completed', usage: eventUsage(this.usage.turn) }
        : { type: 'turn.failed', error: { message: completion.fault?.message ?? 'the turn was interrupted' } },
    );
    this.#completion = completion;
    this.#tell('onCompleted', () => this.#options.onCompleted?.(completion));
  }

  #event(event: CodexEvent): void {
    if (this.#completion === null) this.#tell('onEvent', () => this.#options.onEvent?.(event));
  }

  #tell(listener: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      const { attemptId, threadId, logger, redact } = this.#options;
      logger?.warn('codex turn listener failed', { attemptId, threadId, listener, error: redact(messageOf(error)) });
    }
  }
}

const USAGE = 'thread/tokenUsage/updated';

const TOLD_WHOLE: ReadonlySet<string> = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan']);

const DEFAULT_REASON = {
  failed: 'the turn failed',
  exited: 'codex app-server ended during the turn',
} as const;

function completionOf(turn: WireObject): TurnCompletion {
  const error = turn['error'];
  const fault = error === null || error === undefined ? null : classifyTurnError(error);
  switch (turn['status']) {
    case 'completed':
      return { status: 'completed' };
    case 'interrupted':
      return fault === null ? { status: 'interrupted' } : { status: 'interrupted', fault };
    case 'failed':
      return { status: 'failed', fault: fault ?? classifyTurnError(null) };
    default:
      return { status: 'failed', fault: { code: 'turn_failed', message: 'the turn ended in a way that is not known' } };
  }
}
