/**
 * What one attempt knows. Actors are given an attempt id only, look the record up, write their own slot and read
 * earlier ones; their outputs hold only what guards read. The record goes when the result has settled.
 */

import type { AttemptContext, Budgets, Degradation } from '../../machines/index.ts';
import type { MaintenanceLane } from '../engine/background.ts';
import type { AssembleResult, CompletionFunction, ContextEngine, SessionTarget } from '../engine/contract.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type {
  AppServer,
  BoundThread,
  Clock,
  CodexClient,
  Hooks,
  HostTool,
  Logger,
  OpenedTranscript,
  ServerNotification,
  SessionStore,
  ThreadBinding,
  TraceSink,
  TranscriptRow,
  TranscriptView,
  TurnIntent,
} from '../ports.ts';
import type { ProjectedPrompt } from '../projection/text.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import type { CompactionFacts } from './compaction-report.ts';
import type { NativeCompactingSlot } from './native-compacting.ts';
import type { NativeTurn } from './native-turn.ts';
import type { AttemptRunEvent, FinalizationReport, SandboxMode } from './types.ts';

/** Params with their defaults filled in. */
export interface ResolvedParams {
  prompt: string;
  cwd: string;
  attemptId: string;
  sessionKey: string | null;
  agentId: string;
  model: string | null;
  provider: string;
  sandbox: SandboxMode;
  tokenBudget: number;
  developerInstructions: string;
  citationsMode: string | null;
  isHeartbeat: boolean;
  budgets: Budgets;
  realm: string;
  request: 'turn' | 'compact';
  customInstructions: string | null;
}

/** Services with their defaults filled in. */
export interface ResolvedServices {
  appServer: AppServer;
  session: SessionStore;
  engine: ContextEngine | null;
  hooks: Hooks;
  tools: readonly HostTool[];
  completion: CompletionFunction | null;
  logger: Logger;
  trace: TraceSink;
  clock: Clock;
  lane: MaintenanceLane;
}

export interface HistorySlot {
  view: TranscriptView;
  messages: AgentMessage[];
}

export interface ToolsSlot {
  tools: readonly HostTool[];
  specs: readonly Readonly<Record<string, unknown>>[];
  fingerprint: string;
  names: Set<string>;
}

/** Which native thread the turn shall run on; `bound` is null for a fresh one. */
export interface ThreadPlan {
  kind: 'resume' | 'start';
  bound: BoundThread | null;
  /** Why, for the log. */
  reason: string;
  /** Epoch that the thread will hold once it has started this turn; null: none. */
  epoch: string | null;
}

export interface BuildSlot {
  promptText: string;
  developerInstructions: string;
}

export interface ThreadSlot {
  threadId: string;
  model: string;
  instructionsHash: string;
}

export interface MirrorSlot {
  ok: boolean;
  /** The turn's rows as the session has them; while it has not, as they would be written. */
  rows: readonly TranscriptRow[];
  /** Ids of the rows as they stand in the session, in order: one may have been there under another key. */
  entryIds: readonly string[];
  /** Which end of the turn a hook has kept out of the session; null: neither. */
  blocked: 'prompt' | 'terminal' | null;
  /** The session as re-read after the write; null when that was not possible (spec M1). */
  view: TranscriptView | null;
}

/** What is put down between the states. A slot is undefined until its state has run. */
export interface Slots {
  opened?: OpenedTranscript;
  /** Ends the serving of the session to the engine's SDK. */
  endServing?: () => void;
  binding?: ThreadBinding | null;
  intent?: TurnIntent | null;
  history?: HistorySlot;
  tools?: ToolsSlot;
  assembly?: AssembleResult | null;
  plan?: ThreadPlan;
  projection?: ProjectedPrompt;
  build?: BuildSlot;
  client?: CodexClient;
  thread?: ThreadSlot;
  /** What the app-server said of the thread between its resume and the turn. */
  early?: { heard: ServerNotification[]; off: () => void };
  turn?: NativeTurn;
  mirrored?: MirrorSlot;
  finalization?: FinalizationReport;
  compaction?: CompactionFacts;
  nativeCompacting?: NativeCompactingSlot;
  /** The prompt row as hooks let it be written; null: they do not. Asked once, however often it is written. */
  promptRow?: Promise<TranscriptRow | null>;
  /** The row that the turn begins with in the session: the prompt, unless a hook blocked that. */
  promptEntryId?: string;
  /** How many rows the listeners were told of. */
  rowsTold?: number;
  llmOutputTold?: boolean;
  agentEndTold?: boolean;
}

export interface AttemptRecord {
  readonly params: ResolvedParams;
  readonly services: ResolvedServices;
  /** Aborted when the attempt is over, however it ended: nothing of it outlives it. */
  readonly controller: AbortController;
  /** Aborted as soon as somebody has asked to stop a turn that is under way: what is left to do is hurried. */
  readonly hurry: AbortSignal;
  readonly startedAt: number;
  readonly slots: Slots;
  /** The machine's context as it is now. */
  machine(): AttemptContext;
  /** Work that was begun and must be waited for before the result settles. */
  readonly loose: Set<Promise<unknown>>;
  /** Steps that went wrong beside the machine's own record of them. */
  readonly degraded: Degradation[];
  emit(event: AttemptRunEvent): void;
}

const records = new Map<string, AttemptRecord>();

export function keepRecord(record: AttemptRecord): void {
  records.set(record.params.attemptId, record);
}

export function dropRecord(attemptId: string): void {
  records.delete(attemptId);
}

export function hasRecord(attemptId: string): boolean {
  return records.has(attemptId);
}

export function recordOf(attemptId: string): AttemptRecord {
  const record = records.get(attemptId);
  if (record === undefined) throw new AttemptError('internal', `no attempt with the id ${attemptId} is under way`);
  return record;
}

/** The engine as far as this attempt may use it: null when there is none, or while it is suspended (spec D3). */
export function activeEngine(record: AttemptRecord): ContextEngine | null {
  return record.machine().engine === null ? null : record.services.engine;
}

export function sessionIdOf(record: AttemptRecord): string {
  return record.slots.opened?.sessionId ?? '';
}

/** The session's key, else its id (spec L5). */
export function sessionKeyOf(record: AttemptRecord): string {
  const { sessionKey } = record.params;
  return sessionKey === null || sessionKey.trim() === '' ? sessionIdOf(record) : sessionKey;
}

export function sessionTargetOf(record: AttemptRecord): SessionTarget {
  return {
    agentId: record.params.agentId,
    sessionId: sessionIdOf(record),
    sessionKey: sessionKeyOf(record),
    storePath: record.services.session.transcript.sessionFile,
  };
}

export function historyOf(record: AttemptRecord): HistorySlot {
  return record.slots.history ?? { view: { entries: [], leafId: null }, messages: [] };
}

/** Writes down that a step went wrong without costing the turn (spec E1). */
export function degrade(record: AttemptRecord, state: string, code: string, error: unknown): void {
  const message = redact(messageOf(error));
  record.degraded.push({ state, code, message });
  record.services.logger.warn('attempt step degraded', {
    attemptId: record.params.attemptId,
    state,
    code,
    error: message,
  });
  record.services.trace.emit({ type: 'degraded', state, code, reason: message });
  record.emit({ type: 'attempt.degraded', state, code, message });
}

/** Keeps work from being forgotten: the attempt waits for it, bounded, before it settles. Gives the work back. */
export function keepTrack<T>(record: AttemptRecord, work: Promise<T>): Promise<T> {
  const settled: Promise<unknown> = work.then(
    () => record.loose.delete(settled),
    () => record.loose.delete(settled),
  );
  record.loose.add(settled);
  return work;
}

/**
 * Resolves with the work, or rejects with `error` when `ms` have passed, or with `aborted` when the signal aborts. What
 * the work comes to after that is dropped.
 */
export function bounded<T>(
  work: Promise<T>,
  options: { clock: Clock; ms: number; signal: AbortSignal; error: () => AttemptError },
): Promise<T> {
  const { clock, ms, signal, error } = options;
  return new Promise((resolve, reject) => {
    const onAbort = () => end(() => reject(new AttemptError('aborted', 'the attempt was aborted')));
    const timer = clock.setTimeout(() => end(() => reject(error())), ms);
    const end = (settle: () => void) => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(
      (value) => end(() => resolve(value)),
      (failure: unknown) => end(() => reject(failure)),
    );
    if (signal.aborted) onAbort();
  });
}
