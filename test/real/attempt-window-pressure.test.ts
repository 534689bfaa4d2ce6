// A native thread that is nearly as full as its model's window, as the real app-server reports it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordingEngine } from '../support/engines.ts';
import { type RehearsalBench, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench();
});
afterAll(() => bench.close());

it('is left for a fresh one when an engine has the context, and kept while there is room', async () => {
  const filled = (text: string, inputTokens: number) => ({ text, usage: { inputTokens, outputTokens: 10 } });
  const session = await bench.session([filled('one', 20_000), filled('two', 240_000), filled('three', 20_000)]);
  const { engine } = recordingEngine({});
  const threads: (string | null)[] = [];
  for (const prompt of ['first', 'second', 'third']) {
    const { result } = await session.run({ prompt }, { engine });
    expect(result).toMatchObject({ outcome: 'completed', degraded: [] });
    threads.push(result.threadId);
  }
  const [first, second, third] = threads;
  expect(second).toBe(first);
  expect(third).not.toBe(first);
  expect((await session.store().bindings.read())?.threads).toMatchObject([
    { threadId: third, context: { tokens: 20_000, window: expect.any(Number) } },
  ]);
  const body = JSON.stringify(session.lastBody());
  for (const word of ['first', 'one', 'second', 'two', 'third']) expect(body).toContain(word);
});
