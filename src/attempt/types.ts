/** The public shapes of an attempt: what goes in, what comes out, and what is told on the way. */

import type { Budgets, Degradation, MaintenanceReport } from '../../machines/index.ts';
import type { CodexEvent } from '../codex/events.ts';
import type { SandboxMode } from '../codex/threads.ts';
import type { CompletionFunction, ContextEngine } from '../engine/contract.ts';
import type { AppServer, Clock, Hooks, HostTool, Logger, SessionStore, TraceSink, TurnUsage } from '../ports.ts';

export type { SandboxMode } from '../codex/threads.ts';

/** One prompt for one session. */
export interface AttemptParams {
  /** The user's words, never altered. At most 1,048,576 characters; not empty. */
  prompt: string;
  /** Working folder of the turn; absolute. */
  cwd: string;
  /** Unique id of this attempt; default: a random UUID. */
  attemptId?: string;
  /** The session's key; default: the session id (spec L5). */
  sessionKey?: string;
  /** Default `main`. */
  agentId?: string;
  /** Model id for Codex; default: what Codex is configured for. */
  model?: string;
  /** Name of the provider, for rows and for the engine. Default `openai`; a rehearsal says `rehearsal`. */
  provider?: string;
  /** Default `read-only`. */
  sandbox?: SandboxMode;
  /** Tokens that the engine may fill. Default 128,000. */
  tokenBudget?: number;
  /** Base developer instructions; default none. */
  developerInstructions?: string;
  /** Handed to the engine as it is. */
  citationsMode?: string;
  /** A turn that no person asked for; engines do not store it. Default false. */
  isHeartbeat?: boolean;
  /** Milliseconds per step; default `defaultBudgets`. `execution: 0` means none. */
  budgets?: Partial<Budgets>;
  /** Separates rehearsed threads from real ones. Default `live`. */
  realm?: string;
}

/** What the attempt works with. The caller owns all of it and closes it after `handle.result`. */
export interface AttemptServices {
  appServer: AppServer;
  session: SessionStore;
  /** Null or the engine `legacy`: none (spec T3). */
  engine?: ContextEngine | null;
  hooks?: Hooks;
  tools?: readonly HostTool[];
  /** A model for the engine's own use; offered to it as `runtimeContext.llm.complete`. */
  completion?: CompletionFunction;
  /** Default silent. */
  logger?: Logger;
  trace?: TraceSink;
  clock?: Clock;
}

export type FinalizerMethod = 'commitTurn' | 'afterTurn' | 'ingestBatch' | 'ingest' | 'none';

export interface FinalizationReport {
  method: FinalizerMethod;
  ok: boolean;
  /** The turn is in the outbox and not taken by the engine yet. */
  queued?: boolean;
  reason?: string;
}

export interface AttemptFault {
  code: string;
  message: string;
}

/** What an attempt came to. `states`: top-level states, one entry per visit, then the final one. */
export interface AttemptResult {
  type: 'attempt.settled';
  attemptId: string;
  outcome: 'completed' | 'yielded' | 'aborted' | 'failed';
  states: readonly string[];
  /** The final answer; partial text at an abort; empty when there was none. */
  text: string;
  sessionFile: string;
  sessionId: string;
  threadId: string | null;
  turnId: string | null;
  /** Of this turn, in Codex's counting; null when nothing was reported. */
  usage: TurnUsage | null;
  degraded: readonly Degradation[];
  finalization: FinalizationReport;
  maintenance: MaintenanceReport;
  /** False when the turn had effects that a second run would repeat. */
  replaySafe: boolean;
  /** Kinds of approval that were denied, because nobody was there to give them. */
  deniedApprovals: readonly string[];
  compaction?: CompactionReport;
  error?: AttemptFault;
}

/** Why a native compaction did not happen or did not end well. */
export type NativeCompactionReason =
  | 'no_thread_binding'
  | 'stale_thread_binding'
  | 'thread_busy'
  | 'unauthenticated'
  | 'app_server_unavailable'
  | 'app_server_exited'
  | 'refused'
  | 'model_failed'
  | 'no_compaction'
  | 'interrupted_elsewhere'
  | 'aborted'
  | 'timed_out'
  | 'not_attempted';

/** One native compaction: a backend action of its own, never the engine's (spec K1, K5). */
export interface NativeCompactionReport {
  ok: boolean;
  compacted: boolean;
  backend: 'codex-app-server';
  threadId?: string;
  /** The turn that Codex compacted in, and its item. */
  turnId?: string;
  itemId?: string;
  /** Codex's estimate of what the thread holds now; null: it did not say. */
  tokensAfter?: number | null;
  reason?: NativeCompactionReason;
  /** The reason as a sentence. */
  message?: string;
}

/** Shape of spec 8: with an engine that owns compaction its result is the primary one, also when it failed. */
export interface CompactionReport {
  ok: boolean;
  compacted: boolean;
  primary: 'engine' | 'native';
  /** The engine's own words, or a `NativeCompactionReason`; null: none. */
  reason: string | null;
  /** Tokens; null: not known. Before: as the engine says, else the input of the thread's last model request. */
  tokensBefore: number | null;
  tokensAfter: number | null;
  /** What the engine returned as `result`. */
  result?: unknown;
  details: {
    contextEngineCompaction?: { ok: boolean; compacted: boolean; reason?: string };
    contextEngineMaintenance?: { ok: boolean; reason?: string };
    codexNativeCompaction?: NativeCompactionReport;
  };
}

/** Everything that `handle.onEvent` tells, in order. */
export type AttemptRunEvent =
  | { type: 'attempt.started'; attemptId: string; sessionFile: string; sessionId: string }
  | { type: 'attempt.state'; state: string; path: string }
  | { type: 'attempt.notice'; message: string }
  | { type: 'attempt.degraded'; state: string; code: string; message: string }
  | {
      /** A new row is in the session, and may be read there. `seq` counts the attempt's rows from 1. */
      type: 'attempt.row';
      sessionFile: string;
      entryId: string;
      idempotencyKey: string;
      role: string;
      seq: number;
    }
  | {
      type: 'attempt.compaction';
      phase: 'start' | 'end';
      backend: 'codex-app-server';
      ownsCompaction: boolean;
      completed?: boolean;
    }
  | CodexEvent
  | AttemptResult;

export interface AttemptHandle {
  readonly attemptId: string;
  /** Settles once, when nothing of the attempt is under way any more. Does not reject for a failed turn. */
  readonly result: Promise<AttemptResult>;
  /** Asks the attempt to stop. May be called at any time and again. */
  abort(): void;
  /** Listeners are told every event from now on; the returned function takes the listener away. */
  onEvent(listener: (event: AttemptRunEvent) => void): () => void;
}
