/** Which native thread a turn runs on. The table of all faults is in faults/engine. */
import { describe, expect, it } from 'vitest';
import type { HostTool } from '../../src/ports.ts';
import { CONTEXT_TITLE } from '../../src/projection/neutralise.ts';
import { refusal } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { fail, hang, pass } from '../../src/testing/controlled/script.ts';
import { type Controlled, controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

const HISTORY = [userRow('asked before'), assistantRow('answered before')];

const tool = (name: string, description = name, parameters: object = { type: 'object' }): HostTool => ({
  name,
  description,
  parameters: { ...parameters },
  execute: () => '',
});

/** The threads of a row of attempts, each with its tools. */
async function threadsOf(controlled: Controlled, turns: readonly HostTool[][]): Promise<(string | null)[]> {
  const threads: (string | null)[] = [];
  for (const [at, tools] of turns.entries()) {
    threads.push((await controlled.run({ attemptId: `attempt-${at}` }, { tools })).threadId);
  }
  return threads;
}

describe('the tools of a thread', () => {
  const a = tool('a');
  const b = tool('b');
  const beat = tool('heartbeat');
  const send = (description: string, parameters?: object) => tool('send', description, parameters);
  const schema = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } });

  it.each<[string, HostTool[][], string[]]>([
    ['BL-19: a description that names the channel', [[send('to #one')], [send('to #two')]], ['thread-1', 'thread-1']],
    ['a schema that changes', [[send('x', schema('p'))], [send('x', schema('q'))]], ['thread-1', 'thread-2']],
    [
      'a parameter that is called description',
      [[send('x', schema('p'))], [send('x', schema('description'))]],
      ['thread-1', 'thread-2'],
    ],
    [
      'BL-20: a turn without tools, then the tools in another order',
      [[a, b], [], [b, a]],
      ['thread-1', 'thread-2', 'thread-1'],
    ],
    ['BL-21: a tool for heartbeats only', [[a], [a, beat], [a]], ['thread-1', 'thread-2', 'thread-1']],
    [
      'many kinds of turns in between',
      [[a], [b], [beat], [], [a]],
      ['thread-1', 'thread-2', 'thread-3', 'thread-4', 'thread-1'],
    ],
  ])('%s', async (_name, turns, expected) => {
    for (const engine of [null, {}]) {
      expect(await threadsOf(controlledServices({ history: HISTORY, engine }), turns)).toEqual(expected);
    }
  });

  it('what the main thread missed meanwhile is told to it', async () => {
    const controlled = controlledServices({ history: HISTORY, engine: null });
    await threadsOf(controlled, [[a], [], [a]]);
    const inputs = controlled.script.of('codex.turn/start') as { input: { text: string }[] }[];
    expect(inputs[2]?.input[0]?.text).toContain('[assistant]\nfinal answer');
    expect(inputs[2]?.input[0]?.text).not.toContain('asked before');
  });

  it('the output of an engine is no part of it', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const engine = (addition: string) =>
      Object.assign(Object.create(controlled.engine), {
        assemble: async () => ({ messages: [userRow(addition)], systemPromptAddition: addition }),
      });
    const threads: (string | null)[] = [];
    for (const addition of ['one', 'two', 'three']) {
      threads.push((await controlled.run({ attemptId: addition }, { engine: engine(addition) })).threadId);
    }
    expect(threads).toEqual(['thread-1', 'thread-1', 'thread-1']);
  });
});

describe('BL-22: a binding from before the engine', () => {
  it.each([
    ['stays valid for an engine that projects every turn', {}, 'thread-9'],
    [
      'means a fresh thread for one that projects once per thread',
      { contextProjection: { mode: 'thread_bootstrap', epoch: 'epoch-1' } },
      'thread-1',
    ],
  ])('%s, and the context is in the turn in both cases', async (_name, assembly, threadId) => {
    const controlled = controlledServices({ history: HISTORY, binding: bindingOf(), engine: { assembly } });
    expect((await controlled.run()).threadId).toBe(threadId);
    expect(JSON.stringify(controlled.script.of('codex.turn/start'))).toContain(CONTEXT_TITLE);
  });
});

describe('BL-23, BL-24: a thread that is gone is replaced, once', () => {
  it.each(['no rollout found for thread id thread-9', 'thread not found: thread-9', 'invalid session id: thread-9'])(
    '%s',
    async (message) => {
      const controlled = controlledServices({
        history: HISTORY,
        binding: bindingOf(),
        plan: { 'codex.thread/resume': fail(refusal(message)) },
      });
      expect(await controlled.run()).toMatchObject({ outcome: 'completed', threadId: 'thread-1', degraded: [] });
      expect(controlled.session.state.binding?.threads).toMatchObject([{ threadId: 'thread-1' }]);
      controlled.script.plan('codex.thread/resume', pass);
      expect(await controlled.run({ attemptId: 'attempt-2' })).toMatchObject({ threadId: 'thread-1' });
    },
  );

  it.each([
    'no rollout found for thread id thread-90',
    'no rollout found for thread id 01a2b3c4-0000-7000-8000-000000000000',
    'thread not found: thread-8',
    'the words no rollout found somewhere in a text',
  ])('%s: is not about this thread, so it fails and the binding stays', async (message) => {
    const controlled = controlledServices({
      history: HISTORY,
      binding: bindingOf(),
      plan: { 'codex.thread/resume': fail(refusal(message)) },
    });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code: 'thread_failed' } });
    expect(controlled.session.state.binding).toEqual(bindingOf());
    expect(controlled.script.of('codex.thread/start')).toEqual([]);
  });

  it('a fresh thread that cannot be started ends the attempt: no second try', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      binding: bindingOf(),
      plan: {
        'codex.thread/resume': fail(refusal('thread not found: thread-9')),
        'codex.thread/start': fail(refusal('thread not found: thread-9')),
      },
    });
    expect((await controlled.run()).outcome).toBe('failed');
    expect(controlled.script.of('codex.thread/start')).toHaveLength(1);
  });
});

describe('BL-25: a timeout does not lock the session', () => {
  it.each([
    ['the turn was never answered', { 'codex.turn/start': [hang, pass] }, 'turning', 30_000, 'thread-2'],
    [
      'the thread was never started',
      { 'codex.thread/start': [hang, pass] },
      'thread-start.starting',
      60_000,
      'thread-1',
    ],
    ['the app-server never came', { 'codex.connect': [hang, pass] }, 'thread-start.connecting', 60_000, 'thread-1'],
  ] as const)('%s: the next attempt runs', async (_name, plan, state, ms, threadId) => {
    const controlled = controlledServices({ history: HISTORY, plan });
    const run = controlled.start();
    await run.entered(state);
    await controlled.clock.advance(ms);
    expect((await run.result).outcome).toBe('failed');
    expect(controlled.session.state).toMatchObject({ open: false, intent: null, binding: null });
    expect(await controlled.run({ attemptId: 'attempt-2' })).toMatchObject({
      outcome: 'completed',
      degraded: [],
      threadId,
    });
  });
});
