export { appServerMachine } from './app-server.ts';
export { attemptMachine } from './attempt.ts';
export type {
  AttemptContext,
  AttemptEvent,
  AttemptInput,
  AttemptOutcome,
  AttemptOutput,
  AttemptState,
  Budgets,
  Degradation,
  EngineFacts,
  MaintenanceReport,
} from './attempt-types.ts';
export { ATTEMPT_FINALS, ATTEMPT_STATES, defaultBudgets } from './attempt-types.ts';
export { compactionMachine } from './compaction.ts';
export type { TurnFault, TurnOutput } from './turn.ts';
export { turnMachine } from './turn.ts';
