import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runAttempt, startCompaction } from '../attempt/run-attempt.ts';
import type { AttemptHandle, AttemptParams, AttemptResult, AttemptServices } from '../attempt/types.ts';
import { callEngine, type EngineMethod } from '../engine/call-engine.ts';
import { setTranscriptReader } from '../engine/sdk-bridge/index.ts';
import type { SessionStore, TranscriptRow } from '../ports.ts';
import { ControlledCodex } from '../testing/controlled/codex.ts';
import { ControlledScript, hang, pass } from '../testing/controlled/script.ts';
import type { ControlledTurn } from '../testing/controlled/turn.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { openSessionStore } from '../transcript/store.ts';
import { messagesOf } from './checks.ts';
import { isRecord } from './data.ts';
import { idsOf, steadyClock, unsyncedFs } from './host.ts';
import { mark, occurrences, type Speaker, textsOf } from './marks.ts';
import { memoryStore } from './memory-store.ts';
import { leadTurn, OWN_TOOLS, sentencesOf, type TurnKind } from './native-turns.ts';
import { LOADED_ANEW, type RecordedCall, type Recorder, type RecorderListener } from './recorder.ts';

export interface TurnOptions {
  isHeartbeat?: boolean;
  tokenBudget?: number;
  /** The attempt is aborted when the engine is asked this. */
  abortIn?: EngineMethod;
  /** The attempt is aborted before its turn: nothing is written. */
  abortBefore?: 'turning';
  /** Instead of the usual sentences. */
  texts?: Partial<Record<Speaker, string>>;
}

/** One attempt of a session. */
export interface AttemptRun {
  /** Counts the attempts of a session from 1. */
  turn: number;
  result: AttemptResult;
  calls: readonly RecordedCall[];
}

/** What the engine shows of a session. */
export interface Look extends AttemptRun {
  /** The answer to `assemble`; null when there was none. */
  answer: unknown;
}

export interface SessionOptions {
  recorder: Recorder;
  /** Folder of all sessions. */
  folder: string;
  /** Unique over all sessions of an examination. */
  number: number;
  /** A later process has a later day. Default 0. */
  day?: number;
  /** A session file that another process can go on with. Default: in memory, with a file that is a copy. */
  onDisk?: boolean;
}

export const LOOK_PROMPT = 'What was said so far? Sum it up in one sentence, please.';
/** Tokens of an attempt, where it is not about them. */
export const ROOMY_BUDGET = 128_000;

/** Ids of threads and attempts that a session takes in one process. */
const IDS_PER_DAY = 1000;

/**
 * One session as this host runs it: a session file in a temporary folder, a scripted app-server, the real attempt
 * around the engine. `steps` says in words what has happened in it.
 */
export class HostSession {
  readonly label: string;
  readonly sessionFile: string;
  readonly steps: string[] = [];
  readonly store: SessionStore;
  readonly number: number;
  /** The session's own id, once an attempt has run. */
  sessionId = '';
  readonly #recorder: Recorder;
  readonly #folder: string;
  readonly #day: number;
  readonly #script = new ControlledScript();
  readonly #codex: ControlledCodex;
  readonly #clock: ReturnType<typeof steadyClock>;
  #play: (turn: ControlledTurn) => void | Promise<void> = (turn) => turn.plain();
  #attempts = 0;
  #handle: AttemptHandle | null = null;
  #abortIn: EngineMethod | null = null;
  #onEnd: (call: RecordedCall) => void = () => undefined;

  constructor(options: SessionOptions) {
    const { recorder, folder, number, day = 0, onDisk = false } = options;
    this.number = number;
    this.label = `s${number}`;
    this.#recorder = recorder;
    this.#folder = join(folder, this.label);
    this.#day = day;
    this.#clock = steadyClock(day);
    this.sessionFile = join(this.#folder, 'session.jsonl');
    this.#codex = new ControlledCodex(this.#script, this.#clock, { turns: [(turn) => this.#play(turn)] });
    // Real thread ids are unique over all sessions; an engine may count on it.
    this.#codex.threads = this.turnsBefore;
    const place = {
      sessionFile: this.sessionFile,
      cwd: this.#folder,
      clock: this.#clock,
      newId: idsOf(number * 10 + day, 8),
    };
    this.store = onDisk ? openSessionStore({ ...place, realm: 'live', fs: unsyncedFs }) : memoryStore(place);
  }

  get sessionKey(): string {
    return `agent:main:${this.label}`;
  }

  /** What turns of this session say of themselves to an app-server of somebody else. */
  get turnsBefore(): number {
    return (this.number * 10 + this.#day) * IDS_PER_DAY;
  }

  /** Attempts were run here by others: the next one is a later one. */
  skip(attempts: number, sessionId: string): void {
    this.#attempts = attempts;
    this.sessionId = sessionId;
  }

  /** The word that marks what somebody said in a turn. */
  mark(turn: number | string, speaker: Speaker): string {
    return mark(this.label, turn, speaker);
  }

  /** Writes rows that another program left in the session, before the engine knows it. */
  async seed(rows: readonly AgentMessage[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const never = new AbortController().signal;
    await this.store.transcript.open(never);
    const keyed = rows.map((message, index): TranscriptRow => {
      const idempotencyKey = `seed:${this.label}:${index}`;
      return { idempotencyKey, message: { ...message, idempotencyKey } };
    });
    await this.store.transcript.append(keyed);
    await this.store.transcript.close();
    this.steps.push(`a session file with ${rows.length} messages`);
  }

  /** The rows of the session file. */
  async rows(): Promise<AgentMessage[]> {
    const { entries } = await this.store.transcript.read(new AbortController().signal);
    return entries.map((entry) => entry.message);
  }

  /** One attempt with a turn of this kind. */
  async turn(kind: TurnKind = 'completed', options: TurnOptions = {}): Promise<AttemptRun> {
    const turn = this.#attempts + 1;
    const says = (speaker: Speaker): string => options.texts?.[speaker] ?? this.says(turn, speaker);
    let isFirst = true;
    this.#play = async (native) => {
      this.steps.push(`turn: ${kind === 'overflow' && !isFirst ? 'completed' : kind}`);
      native.started().user(says('user'));
      await leadTurn(native, { kind, says, isFirst, abort: () => this.#abort('turning') });
      isFirst = false;
    };
    return this.#attempt(says('user'), options);
  }

  /** Asks what the engine shows, as an attempt does that is aborted before its turn: it leaves nothing behind. */
  async look(options: Omit<TurnOptions, 'abortBefore'> = {}): Promise<Look> {
    const run = await this.#attempt(options.texts?.user ?? LOOK_PROMPT, { ...options, abortBefore: 'turning' });
    const assembled = run.calls.findLast((call) => call.method === 'assemble' && call.end === 'answered');
    return { ...run, answer: assembled?.answer ?? null };
  }

  /** An explicit compaction, engine first. */
  async compact(): Promise<AttemptRun> {
    // Without a native thread: that one is not the engine's.
    await this.store.bindings.clear();
    return this.#run(() => startCompaction(this.#params(), this.#services()));
  }

  /**
   * Asks the engine as the last attempt of this session asked it, with the session's rows as they are now (or with
   * these); `over` replaces single parameters. Null: it was never asked.
   */
  async ask(
    over: Readonly<Record<string, unknown>> = {},
    rows?: readonly AgentMessage[],
  ): Promise<RecordedCall | null> {
    const base = this.lastCall('assemble');
    if (base === null) return null;
    const messages = rows ?? (await this.rows());
    const params = { ...base.params, prompt: LOOK_PROMPT, messages, ...over };
    return this.call('assemble', params, messages.length);
  }

  /** The last call of a method that the host made for this session. */
  lastCall(method: EngineMethod): RecordedCall | null {
    const { calls } = this.#recorder;
    return calls.findLast((call) => call.method === method && call.params['sessionId'] === this.sessionId) ?? null;
  }

  /** Calls the engine with these parameters, in the host's own way. It may read the first `rows` rows of the session. */
  async call(
    method: EngineMethod,
    params: Readonly<Record<string, unknown>>,
    rows = Number.POSITIVE_INFINITY,
  ): Promise<RecordedCall | null> {
    const before = this.#recorder.calls.length;
    const { entries } = await this.store.transcript.read(new AbortController().signal);
    const visible = entries.slice(0, rows).map(({ entryId, parentId, position, createdAt, message }) => {
      return { entryId, parentId, seq: position, message, role: message.role, createdAt };
    });
    const end = setTranscriptReader({ sessionId: this.sessionId, sessionKey: this.sessionKey }, () => visible);
    const { abortSignal: _over, ...rest } = params;
    this.#listen();
    try {
      await callEngine({ engine: this.#recorder.engine, method, params: rest, warn: () => undefined });
    } catch {
      // The recorder knows more of it.
    } finally {
      end();
    }
    return this.#recorder.calls.slice(before).findLast((call) => call.method === method) ?? null;
  }

  /** How often a marked text of a turn stands in an assembly: among its messages, and in the whole. */
  shown(answer: unknown, turn: number | string, speaker: Speaker): { messages: number; anywhere: number } {
    const word = this.mark(turn, speaker);
    return {
      messages: occurrences(textsOf(messagesOf(answer).map(contentOf)), word),
      anywhere: occurrences(textsOf(answer), word),
    };
  }

  /** What is said in a turn, by default. */
  says(turn: number, speaker: Speaker): string {
    const word = this.mark(turn, speaker);
    return sentencesOf(turn, word)[speaker];
  }

  async #attempt(prompt: string, options: TurnOptions): Promise<AttemptRun> {
    const { isHeartbeat, tokenBudget, abortIn, abortBefore } = options;
    const params = {
      ...this.#params(),
      prompt,
      ...(isHeartbeat === undefined ? {} : { isHeartbeat }),
      ...(tokenBudget === undefined ? {} : { tokenBudget }),
    };
    this.#abortIn = abortIn ?? null;
    this.#script.plan('codex.connect', abortBefore === undefined ? pass : hang);
    const connected = this.#script.of('codex.connect').length;
    return this.#run(() => {
      const handle = runAttempt(params, this.#services());
      if (abortBefore !== undefined) {
        const due = this.#script.until(() => this.#script.of('codex.connect').length > connected);
        void due.then(() => this.#abort('thread-start'));
      }
      return handle;
    });
  }

  async #run(start: () => AttemptHandle): Promise<AttemptRun> {
    this.#attempts += 1;
    await mkdir(this.#folder, { recursive: true });
    const before = this.#recorder.calls.length;
    this.#listen();
    const binding = await this.store.bindings.read();
    const isThere = (await this.rows()).length > 0;
    this.steps.push(`open: ${isThere ? 'file' : 'no file'}${binding === null ? '' : ', bound'}`);
    this.#handle = start();
    this.#handle.onEvent((event) => {
      if (event.type === 'attempt.started') this.sessionId = event.sessionId;
    });
    const result = await this.#handle.result;
    this.#handle = null;
    await this.#recorder.idle();
    return { turn: this.#attempts, result, calls: this.#recorder.calls.slice(before) };
  }

  #abort(state: string): void {
    if (this.#handle === null) return;
    this.steps.push(`ABORT while ${state}`);
    this.#handle.abort();
  }

  /** Whoever had the recorder's ear before has it no more. */
  #listen(): void {
    const listener: RecorderListener = {
      begins: (method, params) => {
        const { reason } = params;
        this.steps.push(typeof reason === 'string' ? `${method} (${reason})` : method);
        this.#begun(method);
        if (this.#abortIn === method) {
          this.#abortIn = null;
          this.#abort(`the engine is in ${method}()`);
        }
      },
      ends: (call) => this.#onEnd(call),
      reloads: () => void this.steps.push(LOADED_ANEW),
    };
    this.#recorder.listener = listener;
  }

  #begun: (method: EngineMethod) => void = () => undefined;

  /** Tells of every call: its beginning, and what it came to. */
  follow(begins: (method: EngineMethod) => void, ends: (call: RecordedCall) => void): void {
    this.#begun = begins;
    this.#onEnd = ends;
  }

  #params(): Omit<AttemptParams, 'prompt'> {
    return {
      cwd: this.#folder,
      attemptId: attemptIdOf(this.number, this.#day, this.#attempts + 1),
      sessionKey: this.sessionKey,
      model: 'gpt-test',
      tokenBudget: ROOMY_BUDGET,
    };
  }

  #services(): AttemptServices {
    const { completion, hooks, tools } = this.#recorder.company;
    return {
      appServer: this.#codex,
      session: this.store,
      engine: this.#recorder.engine,
      hooks,
      tools: [...OWN_TOOLS, ...tools],
      completion,
      clock: this.#clock,
    };
  }
}

function attemptIdOf(session: number, day: number, attempt: number): string {
  const ids = idsOf(session * 10 + day, 9);
  let id = ids();
  for (let count = 1; count < attempt; count += 1) id = ids();
  return id;
}

function contentOf(message: unknown): unknown {
  return isRecord(message) ? message['content'] : undefined;
}
