import { fromCallback, fromPromise } from 'xstate';
import {
  type CompactionActorInput,
  type CompactionAnswer,
  type CompactionEvent,
  compactionMachine,
} from '../../machines/compaction.ts';
import { callEngine } from '../engine/call-engine.ts';
import { runHarnessContextEngineMaintenance } from '../engine/context-engine-lifecycle.ts';
import type { CompactResult } from '../engine/contract.ts';
import { callBaseOf } from '../engine/maintenance.ts';
import { checkCompactResult } from '../engine/result-checks.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { adoptSuccessor } from './adopting.ts';
import { compactionHooks } from './compaction-hooks.ts';
import { factsOf } from './compaction-report.ts';
import { engineSession, tracedEngineCall } from './engine-call.ts';
import { awaitNative, closeNative, interruptNative, requestNative } from './native-compacting.ts';
import { type AttemptRecord, activeEngine, keepTrack, recordOf } from './record.ts';

/** One actor's work: the attempt's record, and a signal that ends with the state or the attempt. */
const work = <Output>(run: (record: AttemptRecord, signal: AbortSignal) => Promise<Output>) =>
  fromPromise<Output, CompactionActorInput>(({ input, signal }) => {
    const record = recordOf(input.attemptId);
    return run(record, AbortSignal.any([signal, record.controller.signal]));
  });

/** The compaction machine with its work: what happens during `compacting`. Provided once per process. */
export const compactionWithNative = compactionMachine.provide({
  actors: {
    watchNative: fromCallback<CompactionEvent, CompactionActorInput>(({ input }) => {
      const record = recordOf(input.attemptId);
      return () => closeNative(record);
    }),
    compactEngine: work(compactEngine),
    maintainEngine: work<unknown>(maintainEngine),
    requestNative: work<unknown>(requestNative),
    awaitNative: work<unknown>(awaitNative),
    interruptNative: work(interruptNative),
  },
});

/** The engine's `compact` (spec K1). Its answer is the primary result. */
async function compactEngine(record: AttemptRecord, signal: AbortSignal): Promise<CompactionAnswer> {
  const engine = activeEngine(record);
  if (engine === null) throw new AttemptError('internal', 'there is no engine that owns compaction');
  const facts = factsOf(record);
  const session = engineSession(record, signal);
  const hooks = compactionHooks(record, 'compacting', 'context-engine');
  let answer: CompactResult;
  try {
    await hooks.before(signal);
    const { tokenBudget, customInstructions } = record.params;
    const params = {
      ...callBaseOf(session),
      tokenBudget,
      force: true,
      // After an overflow the engine shall get below its budget, whatever its threshold says.
      compactionTarget: record.machine().request === 'turn' ? 'budget' : 'threshold',
      ...(facts.tokensBefore === null ? {} : { currentTokenCount: facts.tokensBefore }),
      ...(customInstructions === null ? {} : { customInstructions }),
    };
    const { warn } = session;
    const given = await callEngine({ engine, method: 'compact', params, signal, warn, redact });
    answer = checkCompactResult(given, engine.info.id);
  } catch (error) {
    facts.engine = { ok: false, compacted: false, reason: redact(whyGivenUp(record, signal) ?? messageOf(error)) };
    await hooks.after(record.controller.signal, 0);
    throw error;
  }
  const { ok, compacted, reason, result } = answer;
  facts.engine = {
    ok,
    compacted: ok && compacted,
    ...(reason === undefined ? {} : { reason: redact(reason) }),
    ...(result === undefined ? {} : { result }),
  };
  await hooks.after(record.controller.signal, facts.engine.compacted ? 1 : 0);
  if (!ok) throw new AttemptError('compaction_failed', redact(reason ?? 'the engine did not compact'));
  // Not left halfway by whoever stops the state: the attempt waits for it before it gives the session back.
  await keepTrack(record, adoptSuccessor(record, result, record.controller.signal));
  return { compacted };
}

/** An engine whose call was given up has no words of its own for it. Null: it was not. */
function whyGivenUp(record: AttemptRecord, signal: AbortSignal): string | null {
  if (!signal.aborted) return null;
  if (record.machine().stop === 'abort') return 'aborted';
  const { compact } = record.params.budgets;
  return `it took longer than ${compact} ms (budgets.compact)`;
}

/** The engine's maintenance with the reason `compaction`. A failure is told and costs nothing. */
async function maintainEngine(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const answer = await tracedEngineCall(record, 'maintain', () =>
    runHarnessContextEngineMaintenance({ ...engineSession(record, signal), reason: 'compaction' }),
  );
  factsOf(record).maintenance = answer.ok ? { ok: true } : { ok: false, reason: answer.error.message };
  if (!answer.ok) throw answer.error;
}
