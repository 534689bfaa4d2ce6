import { AttemptError, isAttemptError, messageOf } from '../errors.ts';
import type { MaintenanceLane } from './background.ts';
import { callEngine, type EngineVoice, redacted } from './call-engine.ts';
import type {
  ContextEngine,
  EngineCallBase,
  EngineRuntimeContext,
  MaintainParams,
  MaintainResult,
  TranscriptRewriteRequest,
} from './contract.ts';
import { sessionKeyOf } from './host-params.ts';
import { isActiveEngine } from './legacy.ts';

/** The narrow part of a session manager that the helpers know: a way to rewrite rows, in hosts that have one. */
export interface SessionManagerAdapter {
  rewriteTranscriptEntries?: (request: TranscriptRewriteRequest) => Promise<MaintainResult>;
}

/** What every helper takes: the engine, and the session it is called for. */
export interface EngineSessionParams extends EngineVoice {
  /** Null, undefined and the legacy engine: nothing is called. */
  contextEngine: ContextEngine | null | undefined;
  sessionId: string;
  /** Default: the session id (spec L5). */
  sessionKey?: string | undefined;
  sessionFile: string;
  sessionTarget?: EngineCallBase['sessionTarget'] | undefined;
  sessionManager?: SessionManagerAdapter | undefined;
  runtimeContext?: EngineRuntimeContext | undefined;
  runtimeSettings?: EngineCallBase['runtimeSettings'] | undefined;
  /** Ends the call when it aborts. */
  signal?: AbortSignal | undefined;
}

export interface MaintenanceParams extends EngineSessionParams {
  reason: MaintainParams['reason'];
  /** Where work goes that the engine wants in the background. Absent: all maintenance is waited for. */
  lane?: MaintenanceLane | undefined;
}

/** `ran: false` says why nothing was done. In background mode `ran` means handed over. */
export type MaintenanceOutcome =
  | { ok: true; ran: true; mode: 'foreground' | 'background' }
  | { ok: true; ran: false; reason: 'no-engine' | 'not-offered' }
  | { ok: false; ran: true; error: AttemptError };

export type RunMaintenance = (params: MaintenanceParams) => Promise<MaintenanceOutcome>;

/** The identity that goes with every call. */
export function callBaseOf(params: EngineSessionParams): EngineCallBase {
  const { sessionId, sessionFile, sessionTarget, runtimeContext, runtimeSettings } = params;
  return {
    sessionId,
    sessionKey: sessionKeyOf(params),
    sessionFile,
    ...(sessionTarget === undefined ? {} : { sessionTarget }),
    ...(runtimeContext === undefined ? {} : { runtimeContext }),
    ...(runtimeSettings === undefined ? {} : { runtimeSettings }),
  };
}

/** Before the turn no engine may rewrite the transcript: what the turn starts from has been read already. */
export function beforeTheTurn<T extends EngineSessionParams>(params: T): T {
  if (params.runtimeContext?.rewriteTranscriptEntries === undefined) return params;
  const { rewriteTranscriptEntries: _withheld, ...runtimeContext } = params.runtimeContext;
  return { ...params, runtimeContext };
}

/** Every failure as an AttemptError whose text may be shown. */
export function shownError(error: unknown, voice: EngineVoice): AttemptError {
  return isAttemptError(error) ? error : new AttemptError('engine_failed', redacted(voice, messageOf(error)));
}

/**
 * Lets the engine maintain itself. Whether it may is the caller's decision (spec E2, L7). A failure warns and is
 * returned; the promise never rejects. Reason `turn` offers `rewriteTranscriptEntries` when the host has it.
 */
export async function runHarnessContextEngineMaintenance(params: MaintenanceParams): Promise<MaintenanceOutcome> {
  const engine = params.contextEngine;
  if (!isActiveEngine(engine)) return { ok: true, ran: false, reason: 'no-engine' };
  if (typeof engine.maintain !== 'function') return { ok: true, ran: false, reason: 'not-offered' };
  const request = { ...callBaseOf(offered(params)), reason: params.reason };
  const { warn, redact, signal, lane } = params;
  const label = `context engine ${params.reason} maintenance failed`;
  if (lane !== undefined && params.reason === 'turn' && engine.info.turnMaintenanceMode === 'background') {
    // Without the attempt's signal: the attempt is over before this work is, and must not end it.
    lane.run(
      () => callEngine({ engine, method: 'maintain', params: request, warn, redact }),
      (error) => warn(`${label}: ${shownError(error, params).message}`),
    );
    return { ok: true, ran: true, mode: 'background' };
  }
  try {
    await callEngine({ engine, method: 'maintain', params: request, signal, warn, redact });
    return { ok: true, ran: true, mode: 'foreground' };
  } catch (caught) {
    const error = shownError(caught, params);
    warn(`${label}: ${error.message}`, { answered: true });
    return { ok: false, ran: true, error };
  }
}

function offered(params: MaintenanceParams): MaintenanceParams {
  if (params.reason !== 'turn') return beforeTheTurn(params);
  const rewrite = params.sessionManager?.rewriteTranscriptEntries;
  if (rewrite === undefined || params.runtimeContext === undefined) return params;
  return { ...params, runtimeContext: { ...params.runtimeContext, rewriteTranscriptEntries: rewrite } };
}
