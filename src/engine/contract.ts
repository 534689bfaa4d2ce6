/**
 * OpenClaw's context-engine contract as hosts and engines of 2026.9 speak it (shapes of the npm package `openclaw`,
 * restated). An engine decides what the model sees of the past and stores what happened.
 */

import type { AgentMessage } from '../transcript/messages.ts';

export interface EngineInfo {
  id: string;
  name: string;
  version?: string;
  /** True: the engine's `compact` is the session's compaction, native compaction only keeps the thread healthy. */
  ownsCompaction?: boolean;
  /** `background`: maintenance is handed to the session's lane and not waited for (spec D4). */
  turnMaintenanceMode?: 'foreground' | 'background';
  /** Host-added parameters that the engine wants; absent: all of them. */
  acceptedHostParams?: readonly string[];
  transcriptSemantics?: { currentTurnFence?: string; turnAdvancementIdempotency?: string };
  /** What an operation needs of its host, checked when the engine is resolved (spec D5). */
  hostRequirements?: Readonly<Record<string, HostRequirements | readonly string[]>>;
}

/** The short form, a bare list of capabilities, is accepted too. */
export interface HostRequirements {
  requiredCapabilities?: readonly string[];
  /** The engine's own advice, added to the refusal. */
  unsupportedMessage?: string;
}

/** Operations that an engine may attach requirements to. This host runs the first two. */
export type EngineOperation = 'agent-run' | 'manual-compact' | 'subagent-spawn';

export interface SessionTarget {
  agentId: string;
  sessionId: string;
  sessionKey: string;
  storePath: string;
  threadId?: string;
}

export interface CompletionRequest {
  messages: readonly { role: 'system' | 'user' | 'assistant'; content: string }[];
  maxTokens?: number;
  systemPrompt?: string;
  purpose?: string;
  temperature?: number;
  model?: string;
  agentId?: string;
  reasoning?: unknown;
  signal?: AbortSignal;
}

export interface CompletionResult {
  text: string;
  provider: string;
  model: string;
  agentId?: string;
  usage?: {
    inputTokens?: number;
    outputTokens?: number;
    cacheReadTokens?: number;
    cacheWriteTokens?: number;
    totalTokens?: number;
  };
}

/** A model for the engine's own use (summaries). Works outside a turn too. */
export type CompletionFunction = (request: CompletionRequest) => Promise<CompletionResult>;

/** Tokens of one model request; `input` does not hold the cached ones. */
export interface EngineUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

export interface PromptCacheInfo {
  lastCallUsage?: EngineUsage;
}

export interface TranscriptRewriteRequest {
  replacements: readonly { entryId: string; message: AgentMessage }[];
  allowedRewriteSuffixEntryIds?: readonly string[];
}

export type TurnOutcome = 'completed' | 'yielded' | 'aborted' | 'failed';

/** What every call carries beside its own parameters. */
export interface EngineRuntimeContext {
  agentId: string;
  provider: string;
  model: string;
  modelId: string;
  config: Readonly<Record<string, unknown>>;
  tokenBudget: number;
  contextWindow?: number;
  sessionTarget: SessionTarget;
  transcriptStorage: { kind: string };
  llm?: { complete: CompletionFunction };
  /** Input tokens of the last model request, Codex's own history included; absent while unknown. */
  currentTokenCount?: number;
  /** Tokens of what the engine assembled for this turn: its own share of `currentTokenCount`. */
  assembledTokenCount?: number;
  lastCallUsage?: EngineUsage;
  promptCache?: PromptCacheInfo;
  workspaceDir: string;
  agentDir: string;
  turnOutcome?: TurnOutcome;
  /** The compaction was asked for by a person or the host, and not made after an overflow. */
  manualCompaction?: boolean;
  /** Offered to maintenance after the turn, by hosts whose transcript can be rewritten; never before the turn. */
  rewriteTranscriptEntries?: (request: TranscriptRewriteRequest) => Promise<MaintainResult>;
  [field: string]: unknown;
}

export interface EngineRuntimeSettings {
  schemaVersion: 1;
  runtime: { host: string; mode: 'normal' | 'fallback' | 'degraded'; harnessId: string; runtimeId: string };
  executionHost: { id: 'codex-app-server'; label: string };
  model: { requested: string | null; resolved: string; provider: string; family: null };
  contextEngineSelection?: { selectedId: string | null; source: 'configured' | 'default' | 'unknown' };
  limits: { promptTokenBudget: number; maxOutputTokens: null };
  diagnostics: { fallbackReason: string | null; degradedReason: string | null };
}

/** Ids that go with every call. Host-added fields are filtered by `info.acceptedHostParams`. */
export interface EngineCallBase {
  sessionId: string;
  sessionKey?: string;
  sessionFile?: string;
  sessionTarget?: SessionTarget;
  runtimeContext?: EngineRuntimeContext;
  runtimeSettings?: EngineRuntimeSettings;
  abortSignal?: AbortSignal;
}

export interface AssembleParams extends EngineCallBase {
  /** The mirrored history before this turn. */
  messages: AgentMessage[];
  tokenBudget: number;
  availableTools: Set<string>;
  citationsMode?: string;
  model: string;
  prompt?: string;
}

export interface ContextProjectionMark {
  mode: 'thread_bootstrap';
  epoch: string;
  fingerprint?: string;
}

export interface AssembleResult {
  messages: AgentMessage[];
  estimatedTokens?: number;
  systemPromptAddition?: string;
  contextProjection?: ContextProjectionMark;
  promptAuthority?: string;
}

export interface TranscriptAnchor {
  entryId: string;
  /** Position in the visible branch, from 0. */
  activeMessagePosition: number;
  agentId: string;
  sessionId: string;
  sessionKey: string;
  storePath: string;
  generation: string;
  rawSeq: number;
  effectiveParentId: string | null;
}

export interface CommitTurnParams extends EngineCallBase {
  advancementKey: string;
  admission: TranscriptAnchor & { logicalTurnId: string; role: 'user' };
  terminal: TranscriptAnchor;
  /** Exactly the rows from the admitted user row to the accepted terminal row. */
  messages: AgentMessage[];
  isHeartbeat?: boolean;
}

export interface AfterTurnParams extends EngineCallBase {
  messages: AgentMessage[];
  prePromptMessageCount: number;
  tokenBudget: number;
  isHeartbeat?: boolean;
}

/** What `commitTurn` answers. `duplicate`: this advancement key was committed before; it counts as done. */
export interface CommitTurnResult {
  status: 'committed' | 'duplicate';
}

export interface CompactParams extends EngineCallBase {
  tokenBudget: number;
  force?: boolean;
  compactionTarget?: 'budget' | 'threshold';
  currentTokenCount?: number;
  customInstructions?: string;
}

export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: {
    summary?: string;
    firstKeptEntryId?: string;
    tokensBefore?: number;
    tokensAfter?: number;
    details?: unknown;
    sessionId?: string;
    sessionTarget?: Partial<SessionTarget>;
    sessionFile?: string;
  };
}

export interface MaintainParams extends EngineCallBase {
  reason: 'turn' | 'bootstrap' | 'compaction';
}

export interface MaintainResult {
  changed?: boolean;
  bytesFreed?: number;
  rewrittenEntries?: number;
  reason?: string;
}

/** Everything an engine may implement. Required: info, ingest, assemble, compact. */
export interface ContextEngine {
  readonly info: EngineInfo;
  bootstrap?(params: EngineCallBase): Promise<unknown> | unknown;
  assemble(params: AssembleParams): Promise<AssembleResult> | AssembleResult;
  ingest(params: EngineCallBase & { message: AgentMessage; isHeartbeat?: boolean }): Promise<unknown> | unknown;
  ingestBatch?(
    params: EngineCallBase & { messages: AgentMessage[]; isHeartbeat?: boolean },
  ): Promise<unknown> | unknown;
  afterTurn?(params: AfterTurnParams): Promise<unknown> | unknown;
  commitTurn?(params: CommitTurnParams): Promise<unknown> | unknown;
  compact(params: CompactParams): Promise<CompactResult> | CompactResult;
  maintain?(params: MaintainParams): Promise<MaintainResult | undefined> | MaintainResult | undefined;
  dispose?(): Promise<void> | void;
}

export const CURRENT_TURN_FENCE = 'before-current-turn-entry-v1';
export const TURN_ADVANCEMENT = 'atomic-idempotent-v1';

/** What this host offers an engine (`info.hostRequirements`, spec D5). */
export const HOST_CAPABILITIES = [
  'bootstrap',
  'assemble-before-prompt',
  'after-turn',
  'maintain',
  'compact',
  'thread-bootstrap-projection',
] as const;
/** Offered only when a completion function is configured. */
export const COMPLETION_CAPABILITY = 'runtime-llm-complete';
