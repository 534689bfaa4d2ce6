import type { TurnUsage } from '../ports.ts';
import type {
  CompletionFunction,
  EngineRuntimeContext,
  EngineRuntimeSettings,
  EngineUsage,
  PromptCacheInfo,
  SessionTarget,
  TurnOutcome,
} from './contract.ts';

/** What an attempt knows about itself; the same for every engine call of the attempt. */
export interface EngineAttemptFacts {
  agentId: string;
  provider: string;
  modelId: string;
  config: Readonly<Record<string, unknown>>;
  sessionTarget: SessionTarget;
  /** How the host keeps the transcript: `jsonl` when `sessionFile` is a file that can be read. */
  transcriptKind: string;
  /** Tokens of the model's window, when known. */
  contextWindow?: number | undefined;
  /** A model for the engine's own use; `llm` is absent without it. */
  complete?: CompletionFunction | undefined;
}

export interface RuntimeContextParams {
  attempt: EngineAttemptFacts;
  workspaceDir: string;
  agentDir: string;
  /** Tokens that the assembly may have. */
  tokenBudget: number;
  /** Tokens of what the engine assembled for this turn; absent before `assemble`. */
  assembledTokenCount?: number | undefined;
  turnOutcome?: TurnOutcome | undefined;
}

/** What engines get as `runtimeContext` before anything is known about usage. */
export function buildHarnessContextEngineRuntimeContext(params: RuntimeContextParams): EngineRuntimeContext {
  const { attempt, workspaceDir, agentDir, tokenBudget, assembledTokenCount, turnOutcome } = params;
  const { contextWindow, complete } = attempt;
  return {
    agentId: attempt.agentId,
    provider: attempt.provider,
    model: attempt.modelId,
    modelId: attempt.modelId,
    config: attempt.config,
    tokenBudget,
    sessionTarget: attempt.sessionTarget,
    transcriptStorage: { kind: attempt.transcriptKind },
    workspaceDir,
    agentDir,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(complete === undefined ? {} : { llm: { complete } }),
    ...(assembledTokenCount === undefined ? {} : { assembledTokenCount }),
    ...(turnOutcome === undefined ? {} : { turnOutcome }),
  };
}

/** Usage in Codex's counting: `inputTokens` holds the cached ones. */
export type CodexUsage = TurnUsage & { cacheWriteInputTokens?: number };

export interface RuntimeContextFromUsageParams extends RuntimeContextParams {
  /** The last model request of the turn; absent while the app-server has reported none. */
  lastCallUsage?: CodexUsage | null | undefined;
  /** Usage of the whole turn. Tells a request that hit no cache from a server that does not report the cache. */
  turnUsage?: CodexUsage | null | undefined;
  /** What is known of the prompt cache by other means; wins over what the usage tells. */
  promptCache?: PromptCacheInfo | undefined;
}

/**
 * The same with the turn's usage (spec L6). Engines count input without the cached tokens. `promptCache` is absent
 * while unknown, never zeros (spec M3): two cache figures that are zero over the turn count as not reported.
 */
export function buildHarnessContextEngineRuntimeContextFromUsage(
  params: RuntimeContextFromUsageParams,
): EngineRuntimeContext {
  const context = buildHarnessContextEngineRuntimeContext(params);
  const last = engineUsageOf(params.lastCallUsage);
  if (last !== undefined) {
    context.lastCallUsage = last;
    context.currentTokenCount = last.input + last.cacheRead;
  }
  const turn = engineUsageOf(params.turnUsage);
  const reported = [last, turn].some((usage) => usage !== undefined && usage.cacheRead + usage.cacheWrite > 0);
  const promptCache = params.promptCache ?? (reported && last !== undefined ? { lastCallUsage: last } : undefined);
  if (promptCache !== undefined) context.promptCache = promptCache;
  return context;
}

/** Codex's counting in the engine's; undefined when the figures are not usable. */
function engineUsageOf(usage: CodexUsage | null | undefined): EngineUsage | undefined {
  if (usage === null || usage === undefined) return undefined;
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteInputTokens = 0 } = usage;
  const figures = [inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteInputTokens];
  if (!figures.every((figure) => Number.isFinite(figure) && figure >= 0)) return undefined;
  // A compaction leaves a report with a total and no split: that is no usage of a request.
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  const cacheRead = Math.min(cachedInputTokens, inputTokens);
  return {
    input: inputTokens - cacheRead,
    output: outputTokens,
    cacheRead,
    cacheWrite: cacheWriteInputTokens,
    total: totalTokens,
  };
}

export interface RuntimeSettingsParams {
  requestedModel: string | null;
  resolvedModel: string;
  provider: string;
  engineId: string | null;
  /** Tokens that the assembly may have. */
  promptTokenBudget: number;
  fallbackReason?: string | null;
  degradedReason?: string | null;
}

/**
 * What engines get as `runtimeSettings`, the same object content in every call of an attempt. `executionHost` tells
 * them that the token counts are those of Codex, whose own history they cannot compact. The model family is never
 * guessed from an id.
 */
export function buildEngineRuntimeSettings(params: RuntimeSettingsParams): EngineRuntimeSettings {
  const { requestedModel, resolvedModel, engineId, fallbackReason = null, degradedReason = null } = params;
  const fallback = fallbackReason !== null || (requestedModel !== null && requestedModel !== resolvedModel);
  return {
    schemaVersion: 1,
    runtime: {
      host: 'openclaw',
      mode: degradedReason !== null ? 'degraded' : fallback ? 'fallback' : 'normal',
      harnessId: 'codex',
      runtimeId: 'codex-app-server',
    },
    executionHost: { id: 'codex-app-server', label: 'Codex app-server harness' },
    model: { requested: requestedModel, resolved: resolvedModel, provider: params.provider, family: null },
    contextEngineSelection: { selectedId: engineId, source: engineId === null ? 'unknown' : 'configured' },
    limits: { promptTokenBudget: params.promptTokenBudget, maxOutputTokens: null },
    diagnostics: { fallbackReason, degradedReason },
  };
}
