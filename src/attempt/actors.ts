import { fromPromise } from 'xstate';
import type { ActorInput } from '../../machines/attempt-types.ts';
import { AttemptError, type ErrorCode, isAttemptError, messageOf } from '../errors.ts';
import { assemble } from './assembling.ts';
import * as bootstrap from './bootstrap.ts';
import { compactionWithNative } from './compacting.ts';
import { finalize } from './finalizing.ts';
import { buildPrompt } from './hook-build.ts';
import { maintain } from './maintaining.ts';
import { mirror } from './mirroring.ts';
import { project } from './projecting.ts';
import { type AttemptRecord, recordOf } from './record.ts';
import { recover } from './recovering.ts';
import { connect, resumeThread, startThread } from './thread-start.ts';
import { nativeTurnMachine } from './turning.ts';

/** The work of one state, found by the attempt's id. Its signal ends with the state. */
export type StateWork<Output> = (args: { input: ActorInput; signal: AbortSignal }) => Promise<Output>;

/**
 * One state's work: it gets the attempt's record and a signal that ends with the state or the attempt. `code` is what an
 * error is called that has no code of ours.
 */
const work =
  <Output>(code: ErrorCode, run: (record: AttemptRecord, signal: AbortSignal) => Promise<Output>): StateWork<Output> =>
  async ({ input, signal }) => {
    const record = recordOf(input.attemptId);
    try {
      return await run(record, AbortSignal.any([signal, record.controller.signal]));
    } catch (error) {
      throw isAttemptError(error) ? error : new AttemptError(code, messageOf(error), { cause: error });
    }
  };

/** The same for work whose answer no guard reads. */
const step = (code: ErrorCode, run: (record: AttemptRecord, signal: AbortSignal) => Promise<unknown>) =>
  work<unknown>(code, run);

/** What each state does, by the name of its actor. */
export const stateWork = {
  open: work('session_unreadable', bootstrap.open),
  recover: step('recovery_failed', recover),
  drainOutbox: step('engine_suspended', bootstrap.drain),
  read: step('session_unreadable', bootstrap.read),
  bootstrapEngine: step('engine_failed', bootstrap.bootstrapEngine),
  bootstrapMaintenance: step('engine_failed', bootstrap.bootstrapMaintenance),
  reread: step('session_unreadable', bootstrap.reread),
  assemble: step('engine_failed', assemble),
  project: work('projection_failed', project),
  buildPrompt: step('hook_failed', buildPrompt),
  connect: step('codex_crashed', connect),
  resumeThread: step('thread_failed', resumeThread),
  startThread: step('thread_failed', startThread),
  mirror: step('mirror_failed', mirror),
  finalize: work('finalize_failed', finalize),
  maintain: work('maintain_failed', maintain),
};

/** The two states whose work is a machine of its own. */
export const stateMachines = { turn: nativeTurnMachine, compaction: compactionWithNative };

/** The actors of the attempt machine. */
export const attemptActors = {
  open: fromPromise(stateWork.open),
  recover: fromPromise(stateWork.recover),
  drainOutbox: fromPromise(stateWork.drainOutbox),
  read: fromPromise(stateWork.read),
  bootstrapEngine: fromPromise(stateWork.bootstrapEngine),
  bootstrapMaintenance: fromPromise(stateWork.bootstrapMaintenance),
  reread: fromPromise(stateWork.reread),
  assemble: fromPromise(stateWork.assemble),
  project: fromPromise(stateWork.project),
  buildPrompt: fromPromise(stateWork.buildPrompt),
  connect: fromPromise(stateWork.connect),
  resumeThread: fromPromise(stateWork.resumeThread),
  startThread: fromPromise(stateWork.startThread),
  mirror: fromPromise(stateWork.mirror),
  finalize: fromPromise(stateWork.finalize),
  maintain: fromPromise(stateWork.maintain),
  ...stateMachines,
};
