import type { CompactionOutput } from './compaction.ts';
import type { TurnFault, TurnOutput } from './turn.ts';

/** The top-level states in which work is done, in their order, and the four final states. */
export const ATTEMPT_STATES = [
  'bootstrap',
  'assembling',
  'projecting',
  'hook-build',
  'thread-start',
  'turning',
  'mirroring',
  'finalizing',
  'maintaining',
  'compacting',
] as const;
export const ATTEMPT_FINALS = ['completed', 'yielded', 'aborted', 'failed'] as const;

export type AttemptState = (typeof ATTEMPT_STATES)[number];
export type AttemptOutcome = (typeof ATTEMPT_FINALS)[number];

/** What of the engine steers the machine; null: no engine, or one that is suspended for this attempt (spec D3). */
export interface EngineFacts {
  bootstrap: boolean;
  maintain: boolean;
  ownsCompaction: boolean;
}

/** Milliseconds. `execution: Infinity` means none. */
export interface Budgets {
  store: number;
  bootstrap: number;
  assemble: number;
  hooks: number;
  threadStart: number;
  execution: number;
  mirror: number;
  finalize: number;
  maintain: number;
  compact: number;
  graceInterrupt: number;
  graceMirror: number;
  graceFinalize: number;
  request: number;
  drain: number;
}

export const defaultBudgets: Budgets = {
  store: 30_000,
  bootstrap: 60_000,
  assemble: 60_000,
  hooks: 15_000,
  threadStart: 60_000,
  execution: 48 * 3_600_000,
  mirror: 30_000,
  finalize: 60_000,
  maintain: 120_000,
  compact: 600_000,
  graceInterrupt: 2_000,
  graceMirror: 1_000,
  graceFinalize: 2_000,
  request: 30_000,
  drain: 5_000,
};

/** One step that went wrong without costing the turn (spec E1). */
export interface Degradation {
  state: string;
  code: string;
  message: string;
}

/** Why turn maintenance did not run, or how it ran (spec 2.11). */
export interface MaintenanceReport {
  ran: boolean;
  mode?: 'foreground' | 'background';
  reason?: 'no-engine' | 'not-offered' | 'failed-turn' | 'aborted' | 'yielded' | 'not-finalized' | 'budget' | 'error';
}

export interface AttemptInput {
  attemptId: string;
  request: 'turn' | 'compact';
  engine: EngineFacts | null;
  budgets: Budgets;
}

export interface AttemptContext extends AttemptInput {
  hadSessionFile: boolean;
  thread: 'resume' | 'start';
  freshThreadTries: number;
  overflowTries: number;
  /** What the native turn came to; does not change after `turning`. */
  outcome: AttemptOutcome | null;
  stop: 'abort' | 'deadline' | null;
  cause: TurnFault | null;
  compaction: CompactionOutput['compaction'] | null;
  finalization: 'ok' | 'failed' | null;
  maintenance: MaintenanceReport | null;
  degraded: Degradation[];
}

export interface OpenOutput {
  hadSessionFile: boolean;
  bound: boolean;
  journalOpen: boolean;
}

export interface ProjectOutput {
  thread: 'resume' | 'start';
}

export interface FinalizeOutput {
  ok: boolean;
  code?: string;
  message?: string;
}

export interface MaintainOutput {
  mode: 'foreground' | 'background';
}

/** Every actor is told which attempt it works for, and looks up the rest in that attempt's record. */
export interface ActorInput {
  attemptId: string;
}

export interface AttemptOutput {
  outcome: AttemptOutcome;
  cause: TurnFault | null;
  compaction: AttemptContext['compaction'];
  finalization: AttemptContext['finalization'];
  maintenance: MaintenanceReport | null;
  degraded: Degradation[];
}

export interface AttemptOutputs {
  open: OpenOutput;
  recover: unknown;
  drainOutbox: unknown;
  read: unknown;
  bootstrapEngine: unknown;
  bootstrapMaintenance: unknown;
  reread: unknown;
  assemble: unknown;
  project: ProjectOutput;
  buildPrompt: unknown;
  connect: unknown;
  resumeThread: unknown;
  startThread: unknown;
  turn: TurnOutput;
  mirror: unknown;
  finalize: FinalizeOutput;
  maintain: MaintainOutput;
  compaction: CompactionOutput;
}

export type ActorName = keyof AttemptOutputs;

type Done = { [Name in ActorName]: { type: `xstate.done.actor.${Name}`; output: AttemptOutputs[Name] } }[ActorName];
type Failed = { [Name in ActorName]: { type: `xstate.error.actor.${Name}`; error: unknown } }[ActorName];

/** ABORT is the only event that comes from outside. */
export type AttemptEvent = { type: 'ABORT' } | Done | Failed;
