/** What is left in the session. The table of all faults is in faults/engine. */
import { describe, expect, it } from 'vitest';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { fail, pass } from '../../src/testing/controlled/script.ts';
import { controlledServices, PROMPT } from '../../src/testing/controlled/services.ts';

const rolesAndKeys = (messages: readonly { role: string; idempotencyKey?: string }[]) =>
  messages.map(({ role, idempotencyKey }) => [role, idempotencyKey]);

describe('BL-28: rows are known by what they stand for, never by their place', () => {
  it('a prompt that was written early is not doubled, and what came between is not lost', async () => {
    const controlled = controlledServices({
      codex: {
        turns: [
          (turn) => {
            turn.started().user();
            turn.item({ type: 'reasoning', id: 'r1', summary: ['thought'], content: [] });
            turn.message('first', 'commentary').command('ls', 'a').message('last').completed();
          },
        ],
      },
    });
    await controlled.run({ attemptId: 'attempt-1' });
    expect(rolesAndKeys(controlled.session.messages())).toEqual([
      ['user', 'codex-attempt:attempt-1:prompt'],
      ['assistant', 'codex-app-server:thread-1:turn-1:item-3:assistant'],
      ['assistant', 'codex-app-server:thread-1:turn-1:item-4:toolCall'],
      ['toolResult', 'codex-app-server:thread-1:turn-1:item-4:toolResult'],
      ['assistant', 'codex-app-server:thread-1:turn-1:item-5:assistant'],
    ]);
  });

  it('two turns with the same words are two turns', async () => {
    const controlled = controlledServices();
    await controlled.run({ attemptId: 'attempt-1' });
    await controlled.run({ attemptId: 'attempt-2' });
    expect(rolesAndKeys(controlled.session.messages())).toEqual([
      ['user', 'codex-attempt:attempt-1:prompt'],
      ['assistant', 'codex-app-server:thread-1:turn-1:item-2:assistant'],
      ['user', 'codex-attempt:attempt-2:prompt'],
      ['assistant', 'codex-app-server:thread-1:turn-2:item-2:assistant'],
    ]);
  });
});

it('BL-30: keys reach store and engine byte for byte, whatever secrets the texts around them hold', async () => {
  const secret = 'sk-abcdefgh12345678';
  const controlled = controlledServices({
    engine: { methods: ['ingestBatch'] },
    codex: {
      turns: [(turn) => turn.started().command(`curl -H "Authorization: Bearer ${secret}"`, secret).completed()],
    },
  });
  await controlled.run({ attemptId: 'attempt-1' });
  const keys = [
    'codex-attempt:attempt-1:prompt',
    'codex-app-server:thread-1:turn-1:item-1:toolCall',
    'codex-app-server:thread-1:turn-1:item-1:toolResult',
  ];
  expect(controlled.session.messages().map((row) => row.idempotencyKey)).toEqual(keys);
  const [params] = controlled.script.of('engine.ingestBatch') as { messages: { idempotencyKey: string }[] }[];
  expect(params?.messages.map((row) => row.idempotencyKey)).toEqual(keys);
  expect(JSON.stringify(controlled.session.messages())).not.toContain(secret);
});

it('BL-31: the prompt is in the session once, however often it is written', async () => {
  const controlled = controlledServices();
  await controlled.run({ attemptId: 'attempt-1' });
  expect(controlled.script.of('transcript.append')).toMatchObject([
    { keys: ['codex-attempt:attempt-1:prompt'] },
    { keys: ['codex-attempt:attempt-1:prompt', 'codex-app-server:thread-1:turn-1:item-2:assistant'] },
  ]);
  expect(controlled.session.messages()).toHaveLength(2);
});

describe('BL-32: the prompt can be seen as soon as the turn runs', () => {
  it('and no earlier', async () => {
    const controlled = controlledServices({ codex: { turns: [() => {}] } });
    const run = controlled.start({ attemptId: 'attempt-1' });
    await run.entered('turning');
    expect(controlled.session.state.exists).toBe(false);
    controlled.codex.turns[0]?.started();
    await quiet();
    expect(controlled.session.messages()).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: PROMPT }],
        timestamp: expect.any(Number),
        idempotencyKey: 'codex-attempt:attempt-1:prompt',
      },
    ]);
    controlled.codex.turns[0]?.message('done').completed();
    expect((await run.result).outcome).toBe('completed');
  });

  it('a turn whose turn/started was lost is seen by its first item', async () => {
    const controlled = controlledServices({ codex: { turns: [(turn) => void turn.openMessage('so far')] } });
    const run = controlled.start();
    await run.entered('turning');
    expect(controlled.session.messages()).toMatchObject([{ role: 'user' }]);
    run.abort();
    await run.result;
  });

  it('if that failed, it is written with the rest', async () => {
    const controlled = controlledServices({ plan: { 'transcript.append': [fail('full'), pass] } });
    await controlled.run();
    expect(controlled.session.messages().map((row) => row.role)).toEqual(['user', 'assistant']);
  });
});

it('BL-33: calls of tools are in the mirror, each with its result', async () => {
  const controlled = controlledServices({
    tools: ['lookup'],
    codex: {
      turns: [
        async (turn) => {
          turn.started().command('make', 'built').command('false', 'no', 1);
          await turn.tool('lookup', { q: '1' });
          turn.begin({ type: 'commandExecution', command: 'sleep 60', cwd: '/', status: 'inProgress' });
          turn.message('done').completed();
        },
      ],
    },
  });
  await controlled.run();
  const calls = controlled.session
    .messages()
    .flatMap((row) =>
      row.role === 'assistant' ? row.content.flatMap((part) => (part.type === 'toolCall' ? [part] : [])) : [],
    );
  const results = controlled.session.messages().filter((row) => row.role === 'toolResult');
  expect(calls.map(({ name }) => name)).toEqual(['bash', 'bash', 'lookup', 'bash']);
  expect(results).toMatchObject(calls.map(({ id, name }) => ({ toolCallId: id, toolName: name })));
  expect(results.map((row) => row.isError)).toEqual([false, true, false, true]);
});
