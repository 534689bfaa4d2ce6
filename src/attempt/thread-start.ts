import {
  giveInstructions,
  instructionsHash,
  resumeThread as resumeNativeThread,
  startThread as startNativeThread,
} from '../codex/threads.ts';
import { AttemptError } from '../errors.ts';
import type { ServerNotification } from '../ports.ts';
import { connectAppServer } from './app-server.ts';
import { baselineBuild } from './hook-build.ts';
import { runNotifyHook } from './hook-calls.ts';
import type { AttemptRecord, BuildSlot } from './record.ts';

/** `thread-start.connecting`: a ready app-server, the present one or a new process. */
export async function connect(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  await connectAppServer(record, signal);
}

/**
 * `thread-start.resuming` (`thread/resume`). Writes no binding: that happens at `turn/started`.
 * Fails with `thread_stale` when the thread is gone; every other failure keeps the binding.
 */
export async function resumeThread(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const bound = record.slots.plan?.bound ?? null;
  if (bound === null) throw new AttemptError('internal', 'there is no bound thread to resume');
  const build = buildOf(record);
  listenEarly(record, bound.threadId);
  const client = clientOf(record);
  const options = { signal, timeoutMs: record.params.budgets.threadStart };
  const thread = await resumeNativeThread(client, bound.threadId, settingsOf(record, build), options);
  record.slots.thread = { ...thread, instructionsHash: instructionsHash(build.developerInstructions) };
  await tellInput(record, build, signal);
  // Last: an abort before this leaves the thread with the instructions that the binding knows of.
  await giveInstructions(client, bound.threadId, build.developerInstructions, bound.instructionsHash, options);
}

/** `thread-start.starting` (`thread/start`). A thread without a turn is not on disk, so nothing is bound yet. */
export async function startThread(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const build = buildOf(record);
  const thread = await startNativeThread(clientOf(record), settingsOf(record, build), record.slots.tools?.specs ?? [], {
    signal,
    timeoutMs: record.params.budgets.threadStart,
  });
  record.slots.thread = { ...thread, instructionsHash: instructionsHash(build.developerInstructions) };
  await tellInput(record, build, signal);
}

/**
 * A resume repeats the usage figures of the thread's last turn, after its answer and so between two states. The turn
 * takes them over: they are the mark that tells its own figures from old ones.
 */
function listenEarly(record: AttemptRecord, threadId: string): void {
  const heard: ServerNotification[] = [];
  const off = clientOf(record).onNotification((notification) => {
    if (notification.params['threadId'] === threadId) heard.push(notification);
  });
  record.slots.early = { heard, off };
}

/** `llm_input`, just before `turn/start`. A hook that throws or hangs degrades. */
async function tellInput(record: AttemptRecord, build: BuildSlot, signal: AbortSignal): Promise<void> {
  await runNotifyHook(record, 'thread-start', 'llm_input', signal, {
    prompt: build.promptText,
    developerInstructions: build.developerInstructions,
    imageCount: 0,
  });
}

export function buildOf(record: AttemptRecord): BuildSlot {
  return record.slots.build ?? baselineBuild(record);
}

export function clientOf(record: AttemptRecord) {
  const { client } = record.slots;
  if (client === undefined) throw new AttemptError('internal', 'there is no app-server yet');
  return client;
}

function settingsOf(record: AttemptRecord, build: BuildSlot) {
  return {
    cwd: record.params.cwd,
    model: record.params.model,
    sandbox: record.params.sandbox,
    developerInstructions: build.developerInstructions,
  };
}
