import { fromPromise } from 'xstate';
import { type CompactionActorInput, compactionMachine } from '../../machines/compaction.ts';
import { callEngine } from '../engine/call-engine.ts';
import type { CompactResult } from '../engine/contract.ts';
import { callBaseOf } from '../engine/maintenance.ts';
import { checkCompactResult } from '../engine/result-checks.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { compactionHooks } from './compaction-hooks.ts';
import { engineLogFields, engineSession } from './engine-call.ts';
import { compactThread, interruptCompaction } from './native-compaction.ts';
import { type AttemptRecord, activeEngine, recordOf } from './record.ts';
import type { CompactionReport } from './types.ts';

/** The compaction machine with its work: what happens during `compacting`. Provided once per process. */
export const compactionWithNative = compactionMachine.provide({
  actors: {
    compactEngine: fromPromise<{ compacted: boolean }, CompactionActorInput>(({ input, signal }) => {
      const record = recordOf(input.attemptId);
      return compactEngine(record, AbortSignal.any([signal, record.controller.signal]));
    }),
    compactNative: fromPromise<{ compacted: boolean }, CompactionActorInput>(({ input, signal }) => {
      const record = recordOf(input.attemptId);
      return compactNative(record, AbortSignal.any([signal, record.controller.signal]));
    }),
    interruptNative: fromPromise<unknown, CompactionActorInput>(({ input, signal }) =>
      interruptCompaction(recordOf(input.attemptId), signal),
    ),
  },
});

/** The engine's `compact` (spec K1). Its answer is the primary result. */
async function compactEngine(record: AttemptRecord, signal: AbortSignal): Promise<{ compacted: boolean }> {
  const engine = activeEngine(record);
  if (engine === null) throw new AttemptError('internal', 'there is no engine that owns compaction');
  const session = engineSession(record, signal);
  const { request } = record.machine();
  const currentTokenCount = session.runtimeContext?.currentTokenCount;
  const hooks = compactionHooks(record, 'compacting', 'context-engine');
  await hooks.before(signal);
  let answer: CompactResult;
  try {
    const params = {
      ...callBaseOf(session),
      tokenBudget: record.params.tokenBudget,
      force: true,
      // After an overflow the engine shall get below its budget, whatever its threshold says.
      compactionTarget: request === 'turn' ? 'budget' : 'threshold',
      ...(currentTokenCount === undefined ? {} : { currentTokenCount }),
      ...(record.params.customInstructions === null ? {} : { customInstructions: record.params.customInstructions }),
    };
    const { warn } = session;
    const given = await callEngine({ engine, method: 'compact', params, signal, warn, redact });
    answer = checkCompactResult(given, engine.info.id);
  } catch (error) {
    const reason = redact(messageOf(error));
    const report = reportOf(record);
    report.ok = false;
    report.reason = `context engine compaction failed: ${reason}`;
    report.details.contextEngineCompaction = { ok: false, compacted: false, reason };
    await hooks.after(record.controller.signal, 0);
    throw error;
  }
  const { ok, compacted, reason, result } = answer;
  const said = { ok, compacted, ...(reason === undefined ? {} : { reason: redact(reason) }) };
  Object.assign(reportOf(record), said, result === undefined ? {} : { result });
  reportOf(record).details.contextEngineCompaction = said;
  await hooks.after(record.controller.signal, compacted ? 1 : 0);
  if (!ok) throw new AttemptError('compaction_failed', reason ?? 'the engine did not compact');
  return { compacted };
}

/** Native `thread/compact/start` on the bound thread (spec K1, K2), and what it came to in the report. */
async function compactNative(record: AttemptRecord, signal: AbortSignal): Promise<{ compacted: boolean }> {
  const engine = activeEngine(record);
  const primary = engine?.info.ownsCompaction !== true;
  const hooks = compactionHooks(record, 'compacting', 'codex-app-server');
  await hooks.before(signal);
  const native = await compactThread(record, signal);
  reportOf(record).details.codexNativeCompaction = { backend: 'codex-app-server', ...native };
  if (primary) {
    const { ok, compacted, reason } = native;
    Object.assign(reportOf(record), { ok, compacted, ...(reason === undefined ? {} : { reason }) });
  }
  if (native.compacted && !primary) {
    record.services.logger.debug('codex native compaction completed alongside context-engine compaction', {
      ...engineLogFields(record),
      threadId: native.threadId,
      turnId: native.turnId,
    });
  }
  await hooks.after(record.controller.signal, native.compacted ? -1 : 0);
  if (!native.ok) throw new AttemptError('compaction_failed', native.reason ?? 'the native compaction failed');
  return { compacted: native.compacted };
}

function reportOf(record: AttemptRecord): CompactionReport {
  record.slots.compaction ??= { ok: false, compacted: false, details: {} };
  return record.slots.compaction;
}
