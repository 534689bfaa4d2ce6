import { createHash } from 'node:crypto';
import { AttemptError } from '../errors.ts';
import type { CodexClient } from '../ports.ts';
import { isRpcError } from './errors.ts';
import { classifyRpcError, isStaleThread } from './turn-errors.ts';

export type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';

/** What `thread/start` and `thread/resume` are told beside the thread itself. */
export interface ThreadSettings {
  cwd: string;
  model: string | null;
  sandbox: SandboxMode;
  /** The final developer instructions (spec 2.7); empty: none. */
  developerInstructions: string;
}

export interface StartedThread {
  threadId: string;
  /** The model that Codex chose. */
  model: string;
}

/** Identity of developer instructions, to know whether a thread was given other ones last. */
export function instructionsHash(developerInstructions: string): string {
  return createHash('sha256').update(developerInstructions, 'utf8').digest('hex');
}

/** First line of injected instructions: a resumed thread keeps its old ones in its history (design 3). */
export const REPLACED_INSTRUCTIONS_LINE =
  'These developer instructions replace all earlier developer instructions of this conversation.';

const common = (settings: ThreadSettings) => ({
  cwd: settings.cwd,
  ...(settings.model === null ? {} : { model: settings.model }),
  // Nobody is there to answer, so Codex must not ask: what needs an approval is refused.
  approvalPolicy: 'never',
  sandbox: settings.sandbox,
  ...(settings.developerInstructions === '' ? {} : { developerInstructions: settings.developerInstructions }),
});

/** Params of `thread/start`. */
function buildThreadStartParams(
  settings: ThreadSettings,
  dynamicTools: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  return { ...common(settings), ...(dynamicTools.length === 0 ? {} : { dynamicTools }) };
}

/** Params of `thread/resume`. Tools are frozen at `thread/start`; the server restores them by itself. */
function buildThreadResumeParams(threadId: string, settings: ThreadSettings): Record<string, unknown> {
  return { threadId, ...common(settings), excludeTurns: true };
}

function readThread(method: string, result: unknown): StartedThread & { status: string } {
  const answer = result as { thread?: { id?: unknown; status?: { type?: unknown } }; model?: unknown } | null;
  const id = answer?.thread?.id;
  if (typeof id !== 'string' || id === '') {
    throw new AttemptError('thread_failed', `codex app-server answered ${method} without a thread id`);
  }
  const status = answer?.thread?.status?.type;
  return {
    threadId: id,
    model: typeof answer?.model === 'string' ? answer.model : '',
    status: typeof status === 'string' ? status : '',
  };
}

/**
 * `thread/start`.
 * @throws AttemptError `thread_failed` and the codes of a lost process.
 */
export async function startThread(
  client: CodexClient,
  settings: ThreadSettings,
  dynamicTools: readonly Readonly<Record<string, unknown>>[],
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<StartedThread> {
  try {
    const result = await client.request('thread/start', buildThreadStartParams(settings, dynamicTools), options);
    const { threadId, model } = readThread('thread/start', result);
    return { threadId, model };
  } catch (error) {
    throw isRpcError(error) ? classifyRpcError(error, 'thread_failed') : error;
  }
}

/**
 * `thread/resume`. The thread keeps the instructions that it has: see `giveInstructions`.
 * @throws AttemptError `thread_stale` when the thread is gone, `thread_busy` when a turn runs on it, `thread_failed`.
 */
export async function resumeThread(
  client: CodexClient,
  threadId: string,
  settings: ThreadSettings,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<StartedThread> {
  let thread: StartedThread & { status: string };
  try {
    thread = readThread(
      'thread/resume',
      await client.request('thread/resume', buildThreadResumeParams(threadId, settings), options),
    );
  } catch (error) {
    if (isStaleThread(error, threadId)) {
      throw new AttemptError('thread_stale', `the native thread ${threadId} is gone`, { cause: error });
    }
    throw isRpcError(error) ? classifyRpcError(error, 'thread_failed') : error;
  }
  if (thread.threadId !== threadId) {
    throw new AttemptError('thread_failed', `codex app-server resumed another thread than ${threadId}`);
  }
  if (thread.status === 'active') {
    // A turn/start now would silently steer the running turn.
    throw new AttemptError(
      'thread_busy',
      `a turn is still running on the native thread ${threadId}: wait for its end, or end the program that runs it`,
    );
  }
  return { threadId, model: thread.model };
}

/**
 * The current instructions as a developer item of a resumed thread, if it was given other ones last (`given`: their
 * hash; null: not known). Also when there are none any more. `thread/inject_items`; it stays in the thread's history,
 * so it is done last, when nothing but `turn/start` follows.
 * @throws AttemptError `thread_failed` and the codes of a lost process.
 */
export async function giveInstructions(
  client: CodexClient,
  threadId: string,
  developerInstructions: string,
  given: string | null,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  if (given === instructionsHash(developerInstructions)) return;
  const text =
    developerInstructions === ''
      ? `${REPLACED_INSTRUCTIONS_LINE}\n\nThere are none now.`
      : `${REPLACED_INSTRUCTIONS_LINE}\n\n${developerInstructions}`;
  try {
    await client.request(
      'thread/inject_items',
      { threadId, items: [{ type: 'message', role: 'developer', content: [{ type: 'input_text', text }] }] },
      options,
    );
  } catch (error) {
    throw isRpcError(error) ? classifyRpcError(error, 'thread_failed') : error;
  }
}
