import type { CompactionAnswer } from '../../machines/compaction.ts';
import { resumeThread } from '../codex/threads.ts';
import { AttemptError, type ErrorCode, isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { BoundThread } from '../ports.ts';
import { connectAppServer } from './app-server.ts';
import { type CompactionHooks, compactionHooks } from './compaction-hooks.ts';
import { factsOf } from './compaction-report.ts';
import { engineLogFields } from './engine-call.ts';
import { NativeCompaction, type NativeCompactionEnd } from './native-compaction.ts';
import { type AttemptRecord, activeEngine, degrade, keepTrack } from './record.ts';
import { compactedThread } from './thread-plan.ts';
import type { NativeCompactionReason } from './types.ts';

/** A native compaction that is under way, with the hooks that were told of its beginning. */
export interface NativeCompactingSlot {
  run: NativeCompaction;
  hooks: CompactionHooks;
  /** Set when its end was written down and the hooks were told. */
  concluded?: Promise<void>;
}

/**
 * `native-requested` (spec K1, K2): the thread that was used last is resumed, and `thread/compact/start` sent when
 * nothing runs on it, because it would break off a turn. Its own reason for each obstacle is in the report.
 */
export async function requestNative(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const bound = record.slots.binding?.threads[0];
  try {
    if (bound === undefined) {
      throw new AttemptError(
        'thread_missing',
        'no native thread is bound to this session: there is nothing to compact',
      );
    }
    const client = await connectAppServer(record, signal);
    const { cwd, model, sandbox, developerInstructions, budgets } = record.params;
    await resumeThread(
      client,
      bound.threadId,
      { cwd, model, sandbox, developerInstructions },
      { signal, timeoutMs: budgets.threadStart },
    );
    const run = new NativeCompaction(client, bound.threadId);
    const hooks = compactionHooks(record, 'compacting', 'codex-app-server');
    record.slots.nativeCompacting = { run, hooks };
    await hooks.before(signal);
    signal.throwIfAborted();
    await run.request(budgets.request);
  } catch (error) {
    const { code } = isAttemptError(error) ? error : { code: 'compaction_failed' as const };
    const message = redact(messageOf(error));
    const reason = signal.aborted ? whyStopped(record) : (REASONS[code] ?? 'refused');
    factsOf(record).native ??= {
      ok: false,
      compacted: false,
      ...(bound === undefined ? {} : { threadId: bound.threadId }),
      reason,
      message,
    };
    throw error;
  }
}

/** What stands in the way of a native compaction, by the code of the error. */
const REASONS: Readonly<Partial<Record<ErrorCode, NativeCompactionReason>>> = {
  thread_missing: 'no_thread_binding',
  thread_stale: 'stale_thread_binding',
  thread_busy: 'thread_busy',
  codex_no_credentials: 'unauthenticated',
  unauthorized: 'unauthenticated',
  app_server_exited: 'app_server_exited',
  codex_not_found: 'app_server_unavailable',
  codex_too_old: 'app_server_unavailable',
  codex_crashed: 'app_server_unavailable',
  app_server_silent: 'app_server_unavailable',
  app_server_not_ready: 'app_server_unavailable',
  request_timeout: 'timed_out',
};

/** `native-running`: resolves when the compaction's turn has ended with its item; rejects with why it has not. */
export async function awaitNative(record: AttemptRecord): Promise<void> {
  const slot = slotOf(record);
  const end = await slot.run.ended;
  await conclude(record, slot, end);
  if (!end.compacted) throw new AttemptError(end.code, end.message);
}

/** `interrupting`: what the compaction came to, which may be that it was done already. Rejects when `signal` aborts. */
export async function interruptNative(record: AttemptRecord, signal: AbortSignal): Promise<CompactionAnswer> {
  const slot = record.slots.nativeCompacting;
  if (slot === undefined) return { compacted: false };
  const end = await slot.run.interrupt(whyStopped(record), { signal, clock: record.services.clock });
  await conclude(record, slot, end);
  return { compacted: end.compacted };
}

/** The compaction machine has ended: nothing may run on, and a hook that was told of a beginning is told of the end. */
export function closeNative(record: AttemptRecord): void {
  const slot = record.slots.nativeCompacting;
  if (slot === undefined) return;
  keepTrack(record, slot.run.close());
  keepTrack(
    record,
    slot.run.ended.then((end) => conclude(record, slot, end)),
  );
}

function slotOf(record: AttemptRecord): NativeCompactingSlot {
  const slot = record.slots.nativeCompacting;
  if (slot === undefined) throw new AttemptError('internal', 'there is no native compaction yet');
  return slot;
}

function whyStopped(record: AttemptRecord): NativeCompactionReason {
  return record.machine().stop === 'abort' ? 'aborted' : 'timed_out';
}

/** Once: the report, what the thread has lost, the hooks. */
function conclude(record: AttemptRecord, slot: NativeCompactingSlot, end: NativeCompactionEnd): Promise<void> {
  slot.concluded ??= write(record, slot, end);
  return slot.concluded;
}

async function write(record: AttemptRecord, { run, hooks }: NativeCompactingSlot, end: NativeCompactionEnd) {
  const { threadId, turnId, itemId, tokensAfter } = run;
  const facts = factsOf(record);
  facts.native = {
    ok: end.compacted,
    compacted: end.compacted,
    threadId,
    ...(turnId === null ? {} : { turnId }),
    ...(itemId === null ? {} : { itemId }),
    ...(end.compacted ? { tokensAfter } : { reason: end.reason, message: redact(end.message) }),
  };
  record.services.trace.emit({
    type: 'compaction.native',
    phase: end.compacted ? 'completed' : 'failed',
    ownsCompaction: activeEngine(record)?.info.ownsCompaction === true,
  });
  if (end.compacted) {
    await forgetContents(record, threadId);
    if (facts.engine?.ok === true) {
      record.services.logger.debug('codex native compaction completed alongside context-engine compaction', {
        ...engineLogFields(record),
        threadId,
        turnId,
      });
    }
  }
  await hooks.after(record.controller.signal, end.compacted ? -1 : 0);
}

/** What Codex has compacted away has to be given again (see `compactedThread`). */
async function forgetContents(record: AttemptRecord, threadId: string): Promise<void> {
  const { binding } = record.slots;
  if (binding === null || binding === undefined) return;
  const forget = (thread: BoundThread): BoundThread =>
    thread.threadId === threadId ? compactedThread(thread) : thread;
  const left = { ...binding, threads: binding.threads.map(forget) };
  try {
    await record.services.session.bindings.write(left);
    record.slots.binding = left;
  } catch (error) {
    degrade(record, 'compacting', 'session_write_failed', error);
  }
}
