/** The rehearsal: the real app-server with an offline model (design 7). Used by the command line and by tests. */

export { QUOTE_LENGTH } from './default-answer.ts';
export {
  DEFAULT_REHEARSAL_RETRIES,
  REHEARSAL_MODEL,
  REHEARSAL_PROVIDER,
  type RehearsalSetup,
  type RehearsalSetupOptions,
  rehearsalSetup,
} from './home.ts';
export type { ModelRequestBody } from './request.ts';
export { currentRequest, inputTexts, isCompactionRequest, lastUserText, userTexts } from './request.ts';
export {
  DEFAULT_DELTAS,
  parseRehearsalScript,
  type RehearsalError,
  type RehearsalScript,
  type RehearsalStep,
  type RehearsalStepSource,
  type RehearsalToolCall,
  type RehearsalUsage,
} from './script.ts';
export {
  type RecordedRequest,
  type RehearsalModel,
  type RehearsalModelOptions,
  startRehearsalModel,
} from './server.ts';
