import { isRpcError } from '../codex/errors.ts';
import { onExit } from '../codex/on-exit.ts';
import { resumeThread } from '../codex/threads.ts';
import { objectOf, stringOf } from '../codex/wire-values.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { BoundThread, CodexClient, ServerNotification } from '../ports.ts';
import { connectAppServer } from './app-server.ts';
import { type AttemptRecord, bounded, degrade, keepTrack } from './record.ts';

/** What a native compaction came to. */
export interface NativeCompaction {
  ok: boolean;
  compacted: boolean;
  threadId?: string;
  turnId?: string;
  itemId?: string;
  reason?: string;
}

/**
 * `thread/compact/start` on the thread that was used last. It is a turn of its own: it is done when its
 * `contextCompaction` item and then the turn have completed; anything else is a failure with a reason. Never rejects.
 */
export async function compactThread(record: AttemptRecord, signal: AbortSignal): Promise<NativeCompaction> {
  const bound = record.slots.binding?.threads[0];
  if (bound === undefined) return { ok: false, compacted: false, reason: 'no native thread is bound to this session' };
  const { threadId } = bound;
  try {
    const client = await connectAppServer(record, signal);
    const { cwd, model, sandbox, developerInstructions, budgets } = record.params;
    await resumeThread(
      client,
      threadId,
      { cwd, model, sandbox, developerInstructions },
      { signal, timeoutMs: budgets.threadStart },
    );
    const done = await watchCompaction(client, threadId, signal, () =>
      client.request('thread/compact/start', { threadId }, { signal, timeoutMs: budgets.request }),
    );
    if (done.compacted) await forgetContents(record, bound);
    return { threadId, ...done };
  } catch (error) {
    return { ok: false, compacted: false, threadId, reason: redact(messageOf(error)) };
  }
}

/**
 * `turn/interrupt` of the compaction, and the wait for its end. An app-server that does not end it while the machine
 * waits is retired: nobody can say what runs on the thread then.
 */
export async function interruptCompaction(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const threadId = record.slots.binding?.threads[0]?.threadId;
  const { client } = record.slots;
  if (threadId === undefined || client === undefined) return;
  const end = nextTurnEnd(client, threadId);
  try {
    await client.request('turn/interrupt', { threadId, turnId: '' }, { signal });
    await bounded(end.reached, { clock: record.services.clock, ms: Number.POSITIVE_INFINITY, signal, error: noLimit });
  } catch (error) {
    // Refused: nothing runs any more.
    if (!isRpcError(error)) keepTrack(record, client.retire());
    throw error;
  } finally {
    end.off();
  }
}

const noLimit = () => new AttemptError('internal', 'a wait without a limit ran out');

function nextTurnEnd(client: CodexClient, threadId: string): { reached: Promise<void>; off: () => void } {
  let off = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    const offTurn = client.onNotification(({ method, params }) => {
      if (method === 'turn/completed' && params['threadId'] === threadId) resolve();
    });
    const offExit = onExit(client, () => resolve());
    off = () => {
      offTurn();
      offExit();
    };
  });
  return { reached, off };
}

function watchCompaction(
  client: CodexClient,
  threadId: string,
  signal: AbortSignal,
  start: () => Promise<unknown>,
): Promise<Omit<NativeCompaction, 'threadId'>> {
  return new Promise((resolve, reject) => {
    const seen: { turnId?: string; itemId?: string; completed: boolean } = { completed: false };
    const ids = () => ({
      ...(seen.turnId === undefined ? {} : { turnId: seen.turnId }),
      ...(seen.itemId === undefined ? {} : { itemId: seen.itemId }),
    });
    const end = (settle: () => void) => {
      off();
      offExit();
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const fail = (reason: string) => end(() => resolve({ ok: false, compacted: false, reason, ...ids() }));
    const onAbort = () => fail('the compaction was interrupted');

    const off = client.onNotification(({ method, params }: ServerNotification) => {
      if (params['threadId'] !== threadId) return;
      const item = objectOf(params['item']);
      const turn = objectOf(params['turn']);
      if (method === 'turn/started') seen.turnId ??= stringOf(turn['id']) ?? '';
      if (item['type'] === 'contextCompaction') {
        seen.itemId = stringOf(item['id']) ?? '';
        if (method === 'item/completed') seen.completed = true;
      }
      if (method !== 'turn/completed' || turn['id'] !== seen.turnId) return;
      if (turn['status'] === 'completed' && seen.completed) {
        return end(() => resolve({ ok: true, compacted: true, ...ids() }));
      }
      const why =
        turn['status'] === 'completed' ? 'ended without a compaction item' : `ended as ${String(turn['status'])}`;
      fail(`the native compaction ${why}`);
    });
    signal.addEventListener('abort', onAbort, { once: true });
    const offExit = onExit(client, (exit) => fail(exit.message));
    start().catch((error: unknown) => end(() => reject(error)));
  });
}

/**
 * A native compaction drops injected developer items: the instructions have to be given again (design 3). How full the
 * thread is now nobody has said.
 */
async function forgetContents(record: AttemptRecord, bound: BoundThread): Promise<void> {
  const { binding } = record.slots;
  if (binding === null || binding === undefined) return;
  const threads = binding.threads.map((thread) => {
    if (thread.threadId !== bound.threadId) return thread;
    const { context: _, ...rest } = thread;
    return { ...rest, instructionsHash: null };
  });
  try {
    await record.services.session.bindings.write({ ...binding, threads });
  } catch (error) {
    degrade(record, 'compacting', 'session_write_failed', error);
  }
}
