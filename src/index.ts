// The public surface of the package. Every export is named here; adding one makes it public, removing one breaks users.

export { attemptMachine } from '../machines/attempt.ts';
export type {
  AttemptOutcome,
  AttemptState,
  Budgets,
  Degradation,
  MaintenanceReport,
} from '../machines/attempt-types.ts';
export { ATTEMPT_FINALS, ATTEMPT_STATES, defaultBudgets } from '../machines/attempt-types.ts';
export { DEFAULT_TOKEN_BUDGET, runAttempt, runCodexAppServerAttempt } from './attempt/run-attempt.ts';
export type {
  AttemptFault,
  AttemptHandle,
  AttemptParams,
  AttemptResult,
  AttemptRunEvent,
  AttemptServices,
  CompactionReport,
  FinalizationReport,
  FinalizerMethod,
  NativeCompactionReason,
  NativeCompactionReport,
  SandboxMode,
} from './attempt/types.ts';
export type { CodexAppServerOptions } from './codex/client.ts';
export { createCodexAppServer } from './codex/client.ts';
export { isRpcError, RpcError } from './codex/errors.ts';
export type { CodexEvent } from './codex/events.ts';
export { CodexAppServerEventProjector } from './codex/events.ts';
export type {
  CompactionHandle,
  CompactionResult,
  CompactionRunEvent,
  CompactSessionParams,
} from './compact-session.ts';
export { compactSession } from './compact-session.ts';
export type { ErrorCode } from './errors.ts';
export { AttemptError, ERROR_CODES, ERROR_MEANINGS, isAttemptError } from './errors.ts';
export { HookRegistry } from './hooks/registry.ts';
export { createLogger } from './observe/log.ts';
export { redact } from './observe/redact.ts';
export { silentLogger } from './observe/silent.ts';
export { createTrace } from './observe/trace.ts';
export type * from './ports.ts';
export type { CodexContextProjection } from './projection/text.ts';
export { projectContextEngineAssemblyForCodex } from './projection/text.ts';
export type { ResetSessionOptions, SessionReset } from './reset-session.ts';
export { resetSession } from './reset-session.ts';
export type { ApiKeys, OpenedServices, ServicesOptions } from './services.ts';
export { createServices, REALMS } from './services.ts';
export { systemClock } from './system-clock.ts';
export type * from './transcript/messages.ts';
export { mirrorTranscriptBestEffort, readMirroredSessionHistoryMessages } from './transcript/mirror.ts';
export { openSessionStore } from './transcript/store.ts';
