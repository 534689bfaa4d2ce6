// Hooks that have a say in what is written to the session, on the real app-server.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HookRegistry } from '../../src/hooks/registry.ts';
import { redact } from '../../src/observe/redact.ts';
import type { MessageWriteEvent } from '../../src/ports.ts';
import { recordingEngine } from '../support/engines.ts';
import { conversationOf } from '../support/model-requests.ts';
import { type RehearsalBench, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench();
});
afterAll(() => bench.close());

const writeHook = (handler: (message: MessageWriteEvent['message']) => unknown): HookRegistry => {
  const hooks = new HookRegistry(redact);
  hooks.register('before_message_write', (event) => handler((event as MessageWriteEvent).message));
  return hooks;
};

it('what a hook hides is not in the session, nor in what engines get; the model gets it', async () => {
  const session = await bench.session([{ text: 'swordfish, I see' }, { text: 'which word?' }]);
  const { engine, of } = recordingEngine({ afterTurn: () => {} });
  const hooks = writeHook((message) => ({
    message: { ...JSON.parse(JSON.stringify(message).replaceAll('swordfish', '[hidden]')), idempotencyKey: 'mine' },
  }));
  const one = await session.run({ prompt: 'the word is swordfish', attemptId: 'one' }, { engine, hooks });
  expect(one.result).toMatchObject({ outcome: 'completed', degraded: [], text: 'swordfish, I see' });
  expect(conversationOf(session.lastBody()).at(-1)?.[1]).toContain('the word is swordfish');

  const rows = await session.rows();
  expect(rows).toMatchObject([
    { role: 'user', content: [{ text: 'the word is [hidden]' }], idempotencyKey: 'codex-attempt:one:prompt' },
    { role: 'assistant', content: [{ text: '[hidden], I see' }] },
  ]);
  expect(readFileSync(session.sessionFile, 'utf8')).not.toContain('swordfish');
  expect(of('afterTurn')[0]?.['messages']).toEqual(rows);
  expect(one.events.filter((event) => event.type === 'attempt.row')).toMatchObject(
    rows.map(({ role, idempotencyKey }, index) => ({ role, idempotencyKey, seq: index + 1 })),
  );

  await session.run({ prompt: 'what was it?', attemptId: 'two' }, { engine, hooks });
  expect(of('assemble')[1]?.['messages']).toEqual(rows);
  expect(await session.rows()).toHaveLength(4);
});

it('a session of which everything is blocked has no file, and the answer is given all the same', async () => {
  const session = await bench.session([{ text: 'between us' }]);
  const { result } = await session.run({ prompt: 'one' }, { hooks: writeHook(() => ({ block: true })) });
  expect(result).toMatchObject({ outcome: 'completed', text: 'between us', degraded: [] });
  expect(existsSync(session.sessionFile)).toBe(false);
});
