import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkTrace, readTrace } from '../../src/observe/read-trace.ts';
import { createTrace } from '../../src/observe/trace.ts';
import { systemClock } from '../../src/system-clock.ts';
import { recordingEngine } from '../support/engines.ts';
import { rehearsedSession } from '../support/rehearsed.ts';

const session = await rehearsedSession({ script: { steps: [{ text: 'the canary sings' }] } });
afterAll(() => session.close());

it('the trace of a real attempt keeps its rules and holds no text', async () => {
  const file = join(session.folder, 'trace.ndjson');
  const trace = createTrace({ file, clock: systemClock, attemptId: 'a1' });
  const { engine } = recordingEngine({ afterTurn: () => undefined, maintain: () => undefined });
  const { result } = await session.run({ prompt: 'a canary in a prompt', attemptId: 'a1' }, { trace, engine });
  await trace.close();
  expect(result.outcome).toBe('completed');

  const { events, badLines } = await readTrace(file);
  expect(badLines).toBe(0);
  expect(checkTrace(events)).toEqual([]);
  const entered = events.filter((event) => event.type === 'state.enter').map((event) => event['state']);
  expect(entered.filter((state) => typeof state === 'string' && !state.includes('.'))).toEqual(result.states);
  const requests = events.filter((event) => event.type === 'codex.request').map((event) => event['method']);
  expect(requests).toEqual(['thread/start', 'turn/start']);
  expect(await readFile(file, 'utf8')).not.toContain('canary');
});
