// Equal input gives an equal model request (spec P4, 13): two sessions, each with a Codex home of its own.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostTool } from '../../src/ports.ts';
import type { ModelRequestBody } from '../../src/rehearsal/request.ts';
import { recordingEngine } from '../support/engines.ts';
import { maskedRequest, textsOf } from '../support/model-requests.ts';
import { type RehearsalBench, rehearsalBench } from '../support/rehearsed.ts';

const benches: RehearsalBench[] = [];
beforeAll(async () => {
  benches.push(await rehearsalBench(), await rehearsalBench());
});
afterAll(() => Promise.all(benches.map((bench) => bench.close())));

const tool: HostTool = {
  name: 'lookup',
  description: 'Looks a word up.',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
  execute: () => 'found it',
};

/** The same conversation: three prompts, a tool call, an engine whose addition changes, a hook's text in between. */
async function requestsOf(bench: RehearsalBench): Promise<{ bodies: ModelRequestBody[]; cwd: string }> {
  const session = await bench.session([
    { text: 'first' },
    { toolCalls: [{ name: 'lookup', arguments: { word: 'x' } }] },
    { text: 'second' },
  ]);
  let turn = 0;
  const { engine } = recordingEngine({
    assemble: ({ messages }) => {
      turn += 1;
      return { messages, systemPromptAddition: `advice ${Math.min(turn, 2)}` };
    },
  });
  for (const prompt of ['one', 'two', 'three']) {
    const { result } = await session.run({ prompt, developerInstructions: 'BASE' }, { engine, tools: [tool] });
    expect(result.outcome).toBe('completed');
  }
  return { bodies: session.bodies(), cwd: session.folder };
}

it('differs in nothing but what Codex itself writes', async () => {
  const runs = await Promise.all(benches.map(requestsOf));
  const [first = [], second = []] = runs.map(({ bodies, cwd }) => bodies.map((body) => maskedRequest(body, cwd)));
  expect(first).toHaveLength(4);
  expect(second).toEqual(first);
  // To the byte, so that a prompt cache holds: no order of keys differs either.
  expect(JSON.stringify(second)).toBe(JSON.stringify(first));
  // Not equal for want of content.
  expect(textsOf(first.at(-1) ?? {}, 'user').at(-1)).toContain('tool result:');
  expect(first[1]).not.toEqual(first[0]);
});
