import type { TurnEvent } from '../../machines/turn.ts';
import { CodexAppServerEventProjector, DEFAULT_API } from '../codex/events.ts';
import { onExit } from '../codex/on-exit.ts';
import { idOf, objectOf } from '../codex/wire-values.ts';
import { messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { CodexClient, ServerNotification } from '../ports.ts';
import { createServerRequestHandler } from '../tools/server-requests.ts';
import { createToolCallHandler } from '../tools/tool-calls.ts';
import { type CompactionHooks, compactionHooks } from './compaction-hooks.ts';
import { type AttemptRecord, degrade, keepTrack } from './record.ts';
import { onTurnStarted } from './turn-started.ts';

/**
 * One native turn as the attempt sees it: everything that the app-server says about it goes through here, whatever
 * order it comes in, and the turn machine is told the milestones.
 *
 * `close` ends the turn for good. A turn that was requested and has not ended by then has its process retired, because
 * only a new process is sure not to run it on.
 */
export class NativeTurn {
  readonly threadId: string;
  readonly projector: CodexAppServerEventProjector;
  /** Kinds of approval that were refused. */
  readonly deniedApprovals: string[] = [];
  turnId: string | null = null;
  /** Whether `turn/started` was seen: only then does an interrupt take the turn's id. */
  started = false;
  /** Codex compacted the thread natively during this turn. */
  compacted = false;

  readonly #record: AttemptRecord;
  readonly #client: CodexClient;
  readonly #work = new Set<Promise<unknown>>();
  readonly #calls = new AbortController();
  readonly #compactionHooks: CompactionHooks;
  readonly #unsubscribe: (() => void)[] = [];
  #phase: 'opened' | 'requested' | 'ended' | 'closed' = 'opened';

  constructor(record: AttemptRecord, client: CodexClient, threadId: string, send: (event: TurnEvent) => void) {
    this.#record = record;
    this.#client = client;
    this.threadId = threadId;
    this.#compactionHooks = compactionHooks(record, 'turning', 'codex-app-server');
    const { clock, logger, trace } = record.services;

    this.projector = new CodexAppServerEventProjector({
      threadId,
      attemptId: record.params.attemptId,
      now: () => clock.now(),
      provider: record.params.provider,
      model: record.slots.thread?.model ?? '',
      api: DEFAULT_API,
      redact,
      logger,
      onStarted: (turnId) => {
        this.turnId = turnId;
        this.started = true;
        this.#track(onTurnStarted(record, this));
      },
      onCompleted: (end) => {
        this.#end();
        // The answers of its tools are not taken any more: who still works is told to stop, and not waited for.
        if (end.status !== 'completed') this.#calls.abort();
        send({ type: 'COMPLETED', status: end.status, ...(end.fault === undefined ? {} : { fault: end.fault }) });
      },
      onEffect: () => send({ type: 'EFFECT' }),
      onEvent: (event) => record.emit(event),
      onCompaction: (phase) => this.#track(this.#nativeCompaction(phase)),
    });

    const toolCall = createToolCallHandler({
      tools: record.slots.tools?.tools ?? [],
      threadId,
      turnId: () => this.turnId,
      signal: this.#calls.signal,
      clock,
      redact,
      onCall: (call) => {
        trace.emit({
          type: 'tool.call',
          tool: call.tool,
          callId: call.callId,
          ok: call.ok,
          durationMs: call.durationMs,
        });
      },
      onYield: () => send({ type: 'INTERRUPT', why: 'yield' }),
    });
    const answer = createServerRequestHandler({
      threadId,
      turnId: () => this.turnId,
      onToolCall: (params) => toolCall(params),
      onDenied: (kind) => {
        this.deniedApprovals.push(kind);
        logger.warn('approval denied: nobody is there to give it', { attemptId: record.params.attemptId, kind });
      },
    });

    this.#unsubscribe.push(
      client.onNotification((notification) => {
        trace.emit({ type: 'codex.notification', method: notification.method });
        this.#bindByStart(notification);
        this.projector.accept(notification);
      }),
      client.onServerRequest((request) => {
        const work = answer(request);
        if (work !== undefined) this.#track(work);
        return work;
      }),
    );
    this.#takeOver();
    this.#unsubscribe.push(
      onExit(client, (exit) => {
        this.#end();
        send({ type: 'EXITED', message: exit.message });
      }),
    );
  }

  /** `turn/started` may come before the answer to `turn/start`, or instead of it: on this thread it is ours. */
  #bindByStart({ method, params }: ServerNotification): void {
    if (method !== 'turn/started' || this.turnId !== null || this.#phase !== 'requested') return;
    const turnId = idOf(objectOf(params['turn'])['id']);
    if (turnId !== null && params['threadId'] === this.threadId) this.bind(turnId);
  }

  /** Codex compacts its own thread within the turn: told as native, never as the engine's compaction (spec K3, K5). */
  async #nativeCompaction(phase: 'started' | 'completed' | 'failed'): Promise<void> {
    const { trace, engine } = this.#record.services;
    const ownsCompaction = engine?.info.ownsCompaction === true;
    const done = phase === 'started' ? {} : { completed: phase === 'completed' };
    this.#record.emit({
      type: 'attempt.compaction',
      phase: phase === 'started' ? 'start' : 'end',
      backend: 'codex-app-server',
      ownsCompaction,
      ...done,
    });
    trace.emit({ type: 'compaction.native', phase, ownsCompaction });
    if (phase === 'completed') this.compacted = true;
    const { signal } = this.#record.controller;
    if (phase === 'started') await this.#compactionHooks.before(signal);
    else await this.#compactionHooks.after(signal, phase === 'completed' ? -1 : 0);
  }

  /** What was said of the thread since its resume: the figures of its last turn. */
  #takeOver(): void {
    const { early } = this.#record.slots;
    if (early === undefined) return;
    early.off();
    delete this.#record.slots.early;
    for (const notification of early.heard) this.projector.accept(notification);
  }

  /** From here on a turn may be running on the thread. */
  requested(): void {
    if (this.#phase === 'opened') this.#phase = 'requested';
  }

  /** `turn/start` gave the id: what was buffered is taken in, in order. */
  bind(turnId: string): void {
    this.turnId = turnId;
    this.projector.bindTurn(turnId);
  }

  /** The request was refused: there is no turn that could run on. */
  refused(): void {
    this.#end();
  }

  /** Resolves when nothing that this turn began is under way: writes, tool calls. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  close(): void {
    const phase = this.#phase;
    if (phase === 'closed') return;
    this.#phase = 'closed';
    this.#calls.abort();
    for (const off of this.#unsubscribe) off();
    if (phase === 'requested') keepTrack(this.#record, this.#client.retire());
  }

  #end(): void {
    if (this.#phase !== 'closed') this.#phase = 'ended';
  }

  #track(work: Promise<unknown>): void {
    const settled: Promise<unknown> = work
      .catch((error: unknown) => {
        this.#record.services.logger.debug('work beside the turn failed', { error: redact(messageOf(error)) });
      })
      .then(() => this.#work.delete(settled));
    this.#work.add(settled);
    keepTrack(this.#record, settled);
  }

  /** A step beside the turn went wrong. */
  degrade(code: string, error: unknown): void {
    degrade(this.#record, 'turning', code, error);
  }
}
