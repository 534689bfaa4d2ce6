/** What authors and hosts of context engines need: `codex-attempt-machine/engine`. The default export is the example. */

export { type MaintenanceLane, maintenanceLane } from './background.ts';
export {
  BLOCKING_WARNING_MS,
  callEngine,
  type EngineCall,
  type EngineMethod,
  type EngineVoice,
} from './call-engine.ts';
export {
  type AssembleHarnessParams,
  type AssembleOutcome,
  assembleHarnessContextEngine,
  type BootstrapOutcome,
  type BootstrapParams,
  bootstrapHarnessContextEngine,
  buildHarnessContextEngineRuntimeContext,
  buildHarnessContextEngineRuntimeContextFromUsage,
  finalizeHarnessContextEngineTurn,
  runHarnessContextEngineMaintenance,
} from './context-engine-lifecycle.ts';
export {
  type AfterTurnParams,
  type AssembleParams,
  type AssembleResult,
  COMPLETION_CAPABILITY,
  type CommitTurnParams,
  type CommitTurnResult,
  type CompactParams,
  type CompactResult,
  type CompletionFunction,
  type CompletionRequest,
  type CompletionResult,
  type ContextEngine,
  type ContextProjectionMark,
  CURRENT_TURN_FENCE,
  type EngineCallBase,
  type EngineInfo,
  type EngineOperation,
  type EngineRuntimeContext,
  type EngineRuntimeSettings,
  type EngineUsage,
  HOST_CAPABILITIES,
  type HostRequirements,
  type MaintainParams,
  type MaintainResult,
  type PromptCacheInfo,
  type SessionTarget,
  type TranscriptAnchor,
  type TranscriptRewriteRequest,
  TURN_ADVANCEMENT,
  type TurnOutcome,
} from './contract.ts';
export type { FinalizeMethod, FinalizeTurnParams, FinalizeTurnResult } from './finalize-turn.ts';
export { filterHostParams, HOST_ADDED_PARAMS, sessionKeyOf } from './host-params.ts';
export { declaresDurableTurns, isActiveEngine, isDurableEngine, LEGACY_ENGINE_ID, legacyEngine } from './legacy.ts';
export { EXAMPLE_ENGINE, type LoadEngineOptions, type LoadedEngine, loadEngine } from './load.ts';
export type {
  EngineSessionParams,
  MaintenanceOutcome,
  MaintenanceParams,
  RunMaintenance,
  SessionManagerAdapter,
} from './maintenance.ts';
export {
  type AcceptedTurn,
  type CommitOutcome,
  drainOutbox,
  enqueueAndCommit,
  type LiveCommitParams,
} from './outbox.ts';
export type { HookSink } from './plugin-api.ts';
export { hostCapabilities, resolveEngineRequirements } from './requirements.ts';
export {
  ASSEMBLY_LIMITS,
  type CheckedAssembly,
  checkAssembleResult,
  checkCommitResult,
  checkCompactResult,
} from './result-checks.ts';
export {
  buildEngineRuntimeSettings,
  type CodexUsage,
  type EngineAttemptFacts,
  type RuntimeContextFromUsageParams,
  type RuntimeContextParams,
  type RuntimeSettingsParams,
} from './runtime-context.ts';
export {
  installSdkBridge,
  setTranscriptReader,
  type TranscriptReader,
  type VisibleTranscriptEntry,
} from './sdk-bridge/index.ts';
export { CHARS_PER_TOKEN, estimateTokens } from './tokens.ts';
export { createWindowEngine, default, type ReadTranscript } from './window.ts';
export { WINDOW_ENGINE_DEFAULTS, type WindowEngineConfig } from './window-config.ts';
