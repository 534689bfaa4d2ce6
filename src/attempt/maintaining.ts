import type { MaintainOutput } from '../../machines/attempt-types.ts';
import { runHarnessContextEngineMaintenance } from '../engine/context-engine-lifecycle.ts';
import { engineSession, tracedEngineCall } from './engine-call.ts';
import type { AttemptRecord } from './record.ts';

/**
 * `maintaining` (spec 2.11). Background maintenance is handed to the session's lane and completes at once; the next
 * attempt's bootstrap waits for it (spec D4).
 */
export async function maintain(record: AttemptRecord, signal: AbortSignal): Promise<MaintainOutput> {
  const answer = await tracedEngineCall(record, 'maintain', () =>
    runHarnessContextEngineMaintenance({
      ...engineSession(record, signal),
      reason: 'turn',
      lane: record.services.lane,
    }),
  );
  if (!answer.ok) throw answer.error;
  return { mode: answer.ran ? answer.mode : 'foreground' };
}
