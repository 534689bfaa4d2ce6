import type { EngineVoice } from '../engine/call-engine.ts';
import type { EngineRuntimeContext, EngineRuntimeSettings } from '../engine/contract.ts';
import type { EngineSessionParams } from '../engine/maintenance.ts';
import {
  buildEngineRuntimeSettings,
  buildHarnessContextEngineRuntimeContext,
  buildHarnessContextEngineRuntimeContextFromUsage,
  type RuntimeContextParams,
} from '../engine/runtime-context.ts';
import { estimateTokens } from '../engine/tokens.ts';
import { redact } from '../observe/redact.ts';
import type { LogFields } from '../ports.ts';
import { currentTokens } from './compaction-report.ts';
import { type AttemptRecord, activeEngine, sessionIdOf, sessionKeyOf, sessionTargetOf } from './record.ts';

/** What every engine call of an attempt has in common: who, which session, and how to talk back. */
export function engineSession(record: AttemptRecord, signal: AbortSignal): EngineSessionParams {
  return {
    contextEngine: activeEngine(record),
    sessionId: sessionIdOf(record),
    sessionKey: sessionKeyOf(record),
    sessionFile: record.services.session.transcript.sessionFile,
    sessionTarget: sessionTargetOf(record),
    runtimeContext: runtimeContextOf(record),
    runtimeSettings: runtimeSettingsOf(record),
    signal,
    warn: engineWarn(record),
    redact,
  };
}

/** What a log line about the engine says of where it belongs (spec O2). The session's key is left out. */
export function engineLogFields(record: AttemptRecord): LogFields {
  const { params, services, slots } = record;
  const threadId = slots.turn?.threadId ?? slots.thread?.threadId;
  return {
    attemptId: params.attemptId,
    sessionId: sessionIdOf(record),
    engineId: services.engine?.info.id,
    ...(threadId === undefined ? {} : { threadId }),
    ...(slots.turn?.turnId == null ? {} : { turnId: slots.turn.turnId }),
  };
}

/**
 * Warnings of the engine helpers, which are redacted sentences already. What is not part of an answer, and so of no
 * degradation, is told to whoever listens.
 */
export function engineWarn(record: AttemptRecord): EngineVoice['warn'] {
  return (message, about) => {
    const engineId = record.services.engine?.info.id;
    record.services.logger.warn(message, { attemptId: record.params.attemptId, engineId });
    record.services.trace.emit({ type: 'engine.warning', engineId, reason: message });
    if (about?.answered !== true) record.emit({ type: 'attempt.notice', message });
  };
}

/** Times an engine call for the trace; the outcome decides `ok`. */
export async function tracedEngineCall<T extends { ok: boolean }>(
  record: AttemptRecord,
  method: string,
  call: () => Promise<T>,
): Promise<T> {
  const { clock, trace } = record.services;
  const from = clock.now();
  const answer = await call();
  trace.emit({ type: 'engine.call', method, durationMs: clock.now() - from, ok: answer.ok });
  return answer;
}

function runtimeContextOf(record: AttemptRecord): EngineRuntimeContext {
  const { params, services, slots } = record;
  const facts: RuntimeContextParams = {
    attempt: {
      agentId: params.agentId,
      provider: params.provider,
      modelId: slots.thread?.model || (params.model ?? ''),
      config: {},
      sessionTarget: sessionTargetOf(record),
      transcriptKind: 'jsonl',
      complete: services.completion ?? undefined,
    },
    workspaceDir: params.cwd,
    agentDir: params.cwd,
    tokenBudget: params.tokenBudget,
    ...(slots.assembly == null ? {} : { assembledTokenCount: estimateTokens(slots.assembly.messages) }),
  };
  const usage = slots.turn?.projector.usage;
  if (usage === undefined) return { ...buildHarnessContextEngineRuntimeContext(facts), ...compactionFacts(record) };
  return buildHarnessContextEngineRuntimeContextFromUsage({
    ...facts,
    lastCallUsage: usage.lastRequest,
    turnUsage: usage.turn,
  });
}

/** What an explicit compaction adds: that a person asked for it, and how full the thread was when Codex last said so. */
function compactionFacts(record: AttemptRecord): Pick<EngineRuntimeContext, 'currentTokenCount' | 'manualCompaction'> {
  if (record.params.request !== 'compact') return {};
  const currentTokenCount = currentTokens(record);
  return { manualCompaction: true, ...(currentTokenCount === null ? {} : { currentTokenCount }) };
}

function runtimeSettingsOf(record: AttemptRecord): EngineRuntimeSettings {
  const { params, services, slots } = record;
  return buildEngineRuntimeSettings({
    requestedModel: params.model,
    resolvedModel: slots.thread?.model || (params.model ?? ''),
    provider: params.provider,
    engineId: services.engine?.info.id ?? null,
    promptTokenBudget: params.tokenBudget,
  });
}
