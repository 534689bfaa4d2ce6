/**
 * What an attempt needs from the world. The attempt's states talk to these interfaces and to nothing else, so a host
 * (our CLI, a library user, OpenClaw) and a test supply their own.
 *
 * Unless a member says otherwise: promises may reject (the state that called decides what that means), every call may
 * be made again after a failure, and a signal that aborts makes the call reject soon.
 */

import type { AgentMessage } from './transcript/messages.ts';

// ---------------------------------------------------------------------------------------------------------- time

/** Time as the attempt sees it. `now` is in milliseconds since the epoch. `ms` may be Infinity: then nothing fires. */
export interface Clock {
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

// ----------------------------------------------------------------------------------------------------------- log

/** Fields of a log line: ids, counts, sizes, codes. Never prompt or transcript text, never secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined | readonly string[]>>;

/** Must not throw. Default of the library: silent. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

// --------------------------------------------------------------------------------------------------------- trace

/** One line of a trace, before `seq` and `at` are added by the sink. */
export interface TraceEvent {
  type: string;
  [field: string]: unknown;
}

/** Takes every trace event in order. Must not throw; `close` flushes and may be called twice. */
export interface TraceSink {
  emit(event: TraceEvent): void;
  close(): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- transcript

/** A row of the session as stored. `position` counts the visible branch from 0. */
export interface TranscriptEntry {
  entryId: string;
  parentId: string | null;
  position: number;
  /** ISO 8601. */
  createdAt: string;
  message: AgentMessage;
}

/** The visible branch, root to leaf. `leafId` is the fence: what is appended later lies behind it. */
export interface TranscriptView {
  entries: readonly TranscriptEntry[];
  leafId: string | null;
}

/** A row to be appended. Its key is what makes a second append of the same row a no-op. */
export interface TranscriptRow {
  /** `codex-attempt:<attemptId>:prompt` or `codex-app-server:<threadId>:<turnId>:<itemId>:<kind>`. */
  idempotencyKey: string;
  message: AgentMessage;
  /**
   * The message as it was before hooks rewrote it; absent: nobody has. Never written: a row of another writer that says
   * the same stands for this one too.
   */
  original?: AgentMessage;
}

/** `created` is false when a row with this key was there already; `entry` is then the stored one. */
export interface AppendedRow {
  created: boolean;
  entry: TranscriptEntry;
}

export interface OpenedTranscript {
  /** Whether the session file was there before this attempt wrote anything (spec 2.2). */
  existed: boolean;
  sessionId: string;
  /** Warnings for a person: a torn last line was left out, the last run was of another kind, a side file made no sense. */
  notices: readonly string[];
}

/** The host's own transcript of one session. One writer at a time. */
export interface Transcript {
  /** The path of the session file; in a host without files, the session's key. */
  readonly sessionFile: string;
  /**
   * Takes the session for this process and looks whether it exists. Creates no session file.
   * Rejects with AttemptError `session_busy`, `session_not_a_file`, `session_unreadable`, `session_invalid`.
   */
  open(signal: AbortSignal): Promise<OpenedTranscript>;
  /** The visible branch as it is on disk now. An absent file is an empty view. */
  read(signal: AbortSignal): Promise<TranscriptView>;
  /** Appends rows in order, all or none; rows whose key is there already are left alone. Creates the file if absent. */
  append(rows: readonly TranscriptRow[], signal?: AbortSignal): Promise<readonly AppendedRow[]>;
  /** Gives the session back. May be called at any time, also twice and also while `open` is under way. */
  close(): Promise<void>;
}

// ------------------------------------------------------------------------------------------------------- binding

/** A native thread that this session has used. */
export interface BoundThread {
  threadId: string;
  /** Names, namespaces and schemas of the tools the thread was started with. */
  toolFingerprint: string;
  /** The engine that fed the thread; null: none. */
  engine: { id: string; policy: string } | null;
  /** Epoch of the projection inside the thread; null: the thread has none. */
  epoch: string | null;
  /** Codex has compacted the thread since, and what was projected with it: it does not hold that epoch's context now. */
  contextLost?: boolean;
  /** Hash of the developer instructions that the thread was given last; null: not known, give them again. */
  instructionsHash: string | null;
  /** The last mirrored row that the thread has seen. */
  seenEntryId: string | null;
  /** Hash of the visible rows up to that one; absent: not known. */
  seenHash?: string;
  /** How full the thread was when Codex last said so; absent: not known. */
  context?: NativeContext;
}

/** In tokens: the input of a thread's last model request, and the window of the model that it went to. */
export interface NativeContext {
  tokens: number;
  window: number;
}

/** `realm` separates rehearsed threads from real ones. `threads`: most recently used first, at most four. */
export interface ThreadBinding {
  version: 1;
  realm: string;
  /** The session whose threads these are; absent: written before this was kept, taken to be the present one. */
  sessionId?: string;
  threads: readonly BoundThread[];
}

/** Which native threads belong to this session. Writes are atomic. What cannot be understood reads as null. */
export interface ThreadBindings {
  read(): Promise<ThreadBinding | null>;
  write(binding: ThreadBinding): Promise<void>;
  clear(): Promise<void>;
}

// ------------------------------------------------------------------------------------------------------- journal

/** Written before `turn/start`, taken away once the turn is mirrored and handed to the engine. */
export interface TurnIntent {
  version: 1;
  attemptId: string;
  /** The session that the turn belongs to; absent: written before this was kept, taken to be the present one. */
  sessionId?: string;
  threadId: string;
  /** Null until `turn/started` was seen. */
  turnId: string | null;
  /** The prompt row as it would be written, so that a crash before its append loses nothing. */
  promptRow: TranscriptRow;
  realm: string;
  /** The turn completed, and this durable engine is owed its commit as soon as the turn's rows are in the session. */
  accepted?: { engineId: string; isHeartbeat: boolean };
}

export interface Journal {
  /** An intent left open by an earlier process, or null. */
  read(): Promise<TurnIntent | null>;
  write(intent: TurnIntent): Promise<void>;
  clear(): Promise<void>;
}

// -------------------------------------------------------------------------------------------------------- outbox

/** One accepted turn on its way to a durable engine. The payload is frozen: a retry sends the same bytes. */
export interface OutboxRecord {
  advancementKey: string;
  engineId: string;
  /** The parameters of `commitTurn` that must not change between tries; JSON only. */
  payload: Readonly<Record<string, unknown>>;
}

/** In the order of acceptance. `add` with a key that is there already is a no-op. */
export interface OutboxStore {
  list(): Promise<readonly OutboxRecord[]>;
  add(record: OutboxRecord): Promise<void>;
  remove(advancementKey: string): Promise<void>;
}

/** Where an engine carries a session on: another id, another file, or both. Never neither. */
export interface SessionSuccessor {
  sessionId?: string;
  sessionFile?: string;
}

/** The successor, taken for this process as by `Transcript.open`. */
export interface AdoptedSession {
  store: SessionStore;
  opened: OpenedTranscript;
}

/** Everything that one session keeps. */
export interface SessionStore {
  readonly transcript: Transcript;
  readonly bindings: ThreadBindings;
  readonly journal: Journal;
  readonly outbox: OutboxStore;
  /**
   * Goes over to the session that this one is carried on as. Afterwards this session is given back and its file is as it
   * was; what an engine is still owed has gone along, and the caller writes the binding. An id alone is written into the
   * file of this session, and the store is the same. Null: it is this session already.
   * Rejects with AttemptError `session_not_found`, `session_busy`, `session_invalid`, `session_write_failed`, and then
   * nothing has changed. Absent: this host cannot do that.
   */
  adopt?(successor: SessionSuccessor, signal: AbortSignal): Promise<AdoptedSession | null>;
}

// ---------------------------------------------------------------------------------------------------- app-server

export interface ProcessExit {
  code: number | null;
  signal: string | null;
  /** A sentence for a person; holds what stderr told of the end, redacted. */
  message: string;
}

export interface ServerNotification {
  method: string;
  params: Readonly<Record<string, unknown>>;
}

export interface ServerRequest extends ServerNotification {
  id: number | string;
}

export interface RequestOptions {
  /** Milliseconds; default `DEFAULT_REQUEST_TIMEOUT_MS`. Running out rejects with AttemptError `request_timeout`. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One ready `codex app-server` process. */
export interface CodexClient {
  readonly version: string;
  readonly codexHome: string;
  /**
   * Rejects with RpcError when the server refuses, AttemptError `request_timeout` when it is silent,
   * `app_server_exited` when it is gone (at once, also for requests under way).
   */
  request(method: string, params: Readonly<Record<string, unknown>>, options?: RequestOptions): Promise<unknown>;
  /** Listeners are called in the order of arrival; one that throws is logged and does not disturb the others. */
  onNotification(listener: (notification: ServerNotification) => void): () => void;
  /**
   * Handlers are asked newest first; the first that returns a promise answers; none: the request is refused.
   * A rejected promise is answered as a JSON-RPC error.
   */
  onServerRequest(handler: (request: ServerRequest) => Promise<unknown> | undefined): () => void;
  /** Resolves when the process is gone, asked or not. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Orderly end: input closed, then TERM, then KILL. Resolves when the process is gone. May be called twice. */
  close(): Promise<void>;
  /** End at once, for a process that no longer answers. Resolves when the process is gone. */
  retire(): Promise<void>;
}

/** Where the attempt gets its app-server from. */
export interface AppServer {
  /** A live client: the present one, or a fresh process. Rejects with AttemptError `codex_*`. */
  connect(signal: AbortSignal): Promise<CodexClient>;
  /** Ends the present process, if any. May be called twice. */
  close(): Promise<void>;
}

// --------------------------------------------------------------------------------------------------------- hooks

export interface PromptBuildEvent {
  /** The projected prompt: what Codex would get. */
  prompt: string;
  developerInstructions: string;
  messages: readonly AgentMessage[];
}

/** Texts to put around what Codex gets. Undefined and empty add nothing. */
export interface PromptBuildResult {
  prependContext?: string;
  appendContext?: string;
  prependSystemContext?: string;
  appendSystemContext?: string;
}

/** A row that is about to be written to the session. */
export interface MessageWriteEvent {
  message: AgentMessage;
}

export interface HookContext {
  attemptId: string;
  sessionId: string;
  sessionKey: string;
  cwd: string;
  modelId: string;
  provider: string;
  threadId?: string;
  turnId?: string;
}

export interface LlmInputEvent {
  prompt: string;
  developerInstructions: string;
  imageCount: number;
}

export interface LlmOutputEvent {
  text: string;
  usage: TurnUsage | null;
}

export interface AgentEndEvent {
  outcome: 'completed' | 'yielded' | 'aborted' | 'failed';
  success: boolean;
  aborted: boolean;
  timedOut: boolean;
  durationMs: number;
  error?: { code: string; message: string };
  messages: readonly AgentMessage[];
}

export interface CompactionHookEvent {
  sessionFile: string;
  backend: 'context-engine' | 'codex-app-server';
  messageCount: number;
  compactedCount?: number;
}

/**
 * Hooks that the user or an engine has registered. A hook may throw or hang: the caller bounds it and goes on.
 * Several hooks of one name run in the order of registration; for `before_prompt_build` later prepends stand before
 * earlier ones and later appends after; for `before_message_write` each gets the message as the one before left it, and
 * the first that blocks is the last that is asked.
 */
export interface Hooks {
  has(name: HookName): boolean;
  beforePromptBuild(
    event: PromptBuildEvent,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<PromptBuildResult>>;
  /** The message to write instead, of the same role and with the same idempotency key; null: it shall not be written. */
  beforeMessageWrite(
    event: MessageWriteEvent,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<AgentMessage | null>>;
  notify(
    name: NotifyHookName,
    event: LlmInputEvent | LlmOutputEvent | AgentEndEvent | CompactionHookEvent | Readonly<Record<string, unknown>>,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<undefined>>;
}

/** What the hooks gave, and the failures on the way (already redacted), one per hook that threw. */
export interface HookOutcome<T> {
  value: T;
  failures: readonly { name: string; message: string }[];
}

/** Hooks that are only told. The other two have a say. */
export type NotifyHookName = Exclude<HookName, 'before_prompt_build' | 'before_message_write'>;

export type HookName =
  | 'before_prompt_build'
  | 'before_message_write'
  | 'llm_input'
  | 'llm_output'
  | 'agent_end'
  | 'before_compaction'
  | 'after_compaction'
  | 'before_reset'
  | 'session_end'
  | 'gateway_start'
  | 'gateway_stop';

// --------------------------------------------------------------------------------------------------------- tools

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolCallContext {
  callId: string;
  threadId: string;
  turnId: string;
  signal: AbortSignal;
}

/** What a tool may say beside its text. `yield: true` ends the turn as yielded. */
export interface ToolResultMarks {
  isError?: boolean;
  yield?: boolean;
}

/** A part of an answer in the form of MCP. Only the `text` of parts of the type `text` reaches the model. */
export interface ToolContentPart {
  type: string;
  text?: string;
}

/** A text; a text with marks; or parts with marks, whose texts are joined by line breaks. */
export type ToolResult =
  | string
  | ({ text: string } & ToolResultMarks)
  | ({ content: readonly ToolContentPart[] } & ToolResultMarks);

/** A function of the host that the model may call. A throw becomes a failed result whose text the model can read. */
export interface HostTool {
  /** `^[a-zA-Z0-9_-]+$`, unique within its namespace. */
  name: string;
  namespace?: string;
  description: string;
  parameters: JsonSchema;
  execute(args: Readonly<Record<string, unknown>>, context: ToolCallContext): Promise<ToolResult> | ToolResult;
}

// --------------------------------------------------------------------------------------------------------- usage

/** Tokens of one turn in Codex's counting: `inputTokens` holds the cached ones. */
export interface TurnUsage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningOutputTokens: number;
  totalTokens: number;
}
