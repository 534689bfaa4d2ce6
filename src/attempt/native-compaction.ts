import { onExit } from '../codex/on-exit.ts';
import { classifyRpcError, classifyTurnError } from '../codex/turn-errors.ts';
import { numberOf, objectOf, stringOf, type WireObject } from '../codex/wire-values.ts';
import { AttemptError, type ErrorCode } from '../errors.ts';
import type { Clock, CodexClient, ServerNotification } from '../ports.ts';
import { bounded } from './record.ts';
import type { NativeCompactionReason } from './types.ts';

/** What a native compaction came to. */
export type NativeCompactionEnd =
  | { compacted: true }
  | { compacted: false; reason: NativeCompactionReason; code: ErrorCode; message: string };

/**
 * One `thread/compact/start` as the attempt sees it. Codex runs it as a turn of its own: it is done when that turn's
 * `contextCompaction` item and then the turn itself have completed. `thread/compacted` is not waited for, because no
 * version sends it. The first turn that begins on the thread after the request is taken for it (nothing ran there
 * before), and what another turn says does not count.
 *
 * `close` ends it for good. A compaction that was requested and has not ended by then has its process retired, because
 * only a new process is sure not to run it on.
 */
export class NativeCompaction {
  readonly threadId: string;
  turnId: string | null = null;
  itemId: string | null = null;
  /** What Codex estimates the thread to hold after the compaction; null: it has not said. */
  tokensAfter: number | null = null;
  /** What it came to. Never rejects; open as long as nobody knows. */
  readonly ended: Promise<NativeCompactionEnd>;
  /** Resolves when its turn has begun, or cannot begin any more. */
  readonly begun: Promise<void>;

  readonly #client: CodexClient;
  readonly #off: () => void;
  #phase: 'opened' | 'requested' | 'ended' | 'closed' = 'opened';
  #itemDone = false;
  #stopAsked: NativeCompactionReason | null = null;
  #end: (end: NativeCompactionEnd) => void = () => undefined;
  #begin: () => void = () => undefined;

  constructor(client: CodexClient, threadId: string) {
    this.#client = client;
    this.threadId = threadId;
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const offNotification = client.onNotification((notification) => this.#hear(notification));
    const offExit = onExit(client, (exit) => this.#fail('app_server_exited', 'app_server_exited', exit.message));
    this.#off = () => {
      offNotification();
      offExit();
    };
  }

  /**
   * Sends the request; nothing is heard before. Resolves with the answer, or when the compaction has ended before it came.
   * Rejects as `CodexClient.request`: a refusal is the end, a silent server may run it all the same.
   */
  async request(timeoutMs: number): Promise<void> {
    if (this.#phase !== 'opened') return;
    this.#phase = 'requested';
    try {
      // Without a signal: whoever stops waiting for the answer must still interrupt what it began.
      const answer = this.#client.request('thread/compact/start', { threadId: this.threadId }, { timeoutMs });
      await Promise.race([answer, this.ended]);
    } catch (error) {
      const refusal = classifyRpcError(error, 'compaction_failed');
      // Only an answer says that nothing runs.
      if (refusal.code !== 'request_timeout') this.#fail('refused', refusal.code, refusal.message);
      throw refusal;
    }
  }

  /**
   * `turn/interrupt`, once its turn has begun: before that the app-server knows no turn to interrupt, and would run it
   * to its end. Resolves with what it came to, which may be that it was done already. Rejects when `signal` aborts.
   */
  async interrupt(
    why: NativeCompactionReason,
    options: { signal: AbortSignal; clock: Clock },
  ): Promise<NativeCompactionEnd> {
    const until = <T>(work: Promise<T>): Promise<T> =>
      bounded(work, { ...options, ms: Number.POSITIVE_INFINITY, error: noLimit });
    this.#stopAsked ??= why;
    if (this.#phase === 'opened') this.#fail(why, 'aborted', 'the native compaction was stopped before it began');
    await until(this.begun);
    if (this.#phase === 'requested') {
      const { threadId, turnId } = this;
      // Only the end of the turn counts: a refusal says that the turn is just ending.
      this.#client
        .request('turn/interrupt', { threadId, turnId: turnId ?? '' }, { signal: options.signal })
        .catch(() => undefined);
    }
    return await until(this.ended);
  }

  /** May be called again. Resolves when a process that had to be retired is gone. */
  async close(): Promise<void> {
    const phase = this.#phase;
    if (phase === 'closed') return;
    this.#phase = 'closed';
    this.#off();
    this.#begin();
    const reason = this.#stopAsked ?? 'timed_out';
    this.#end({ compacted: false, reason, code: 'aborted', message: 'the native compaction did not end in time' });
    if (phase === 'requested') await this.#client.retire();
  }

  #hear({ method, params }: ServerNotification): void {
    if (this.#phase !== 'requested' || params['threadId'] !== this.threadId) return;
    const turn = objectOf(params['turn']);
    if (method === 'turn/started') {
      this.turnId ??= stringOf(turn['id']);
      this.#begin();
    } else if (method === 'item/started' || method === 'item/completed') {
      this.#hearItem(method, params);
    } else if (method === 'thread/tokenUsage/updated') {
      this.#hearUsage(params);
    } else if (method === 'turn/completed' && this.turnId !== null && turn['id'] === this.turnId) {
      this.#conclude(turn);
    }
  }

  #hearItem(method: string, params: WireObject): void {
    const item = objectOf(params['item']);
    if (item['type'] !== 'contextCompaction' || params['turnId'] !== this.turnId) return;
    this.itemId ??= stringOf(item['id']);
    if (method === 'item/completed' && item['id'] === this.itemId) this.#itemDone = true;
  }

  /** After a compaction Codex reports an estimate of the new context: a sum without its parts. */
  #hearUsage(params: WireObject): void {
    if (params['turnId'] !== this.turnId) return;
    const last = objectOf(objectOf(params['tokenUsage'])['last']);
    const total = numberOf(last['totalTokens']);
    const isEstimate = numberOf(last['inputTokens']) === 0 && numberOf(last['outputTokens']) === 0;
    if (isEstimate && total !== null && total > 0) this.tokensAfter = total;
  }

  #conclude(turn: WireObject): void {
    const { status } = turn;
    if (status === 'completed' && this.#itemDone) {
      this.#settle({ compacted: true });
    } else if (status === 'completed') {
      const lack = this.itemId === null ? 'without a compaction item' : 'before its compaction item';
      this.#fail('no_compaction', 'compaction_failed', `the native compaction ended ${lack}`);
    } else if (status === 'failed') {
      const { code, message } = classifyTurnError(turn['error']);
      this.#fail('model_failed', code === 'turn_failed' ? 'compaction_failed' : code, message);
    } else if (this.#stopAsked !== null) {
      this.#fail(this.#stopAsked, 'aborted', 'the native compaction was interrupted');
    } else {
      const message = 'the native compaction was interrupted, and not by this attempt';
      this.#fail('interrupted_elsewhere', 'interrupted_elsewhere', message);
    }
  }

  #fail(reason: NativeCompactionReason, code: ErrorCode, message: string): void {
    this.#settle({ compacted: false, reason, code, message });
  }

  #settle(end: NativeCompactionEnd): void {
    if (this.#phase !== 'opened' && this.#phase !== 'requested') return;
    this.#phase = 'ended';
    this.#begin();
    this.#end(end);
  }
}

const noLimit = () => new AttemptError('internal', 'a wait without a limit ran out');
