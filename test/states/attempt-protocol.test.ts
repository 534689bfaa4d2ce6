import { describe, expect, it } from 'vitest';
import type { MessageWriteEvent } from '../../src/ports.ts';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { refusal, type TurnPlay } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, fail, gate, pass } from '../../src/testing/controlled/script.ts';
import { controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';
import { ANSWER } from '../../src/testing/controlled/turn.ts';

/** Oddities of the app-server (facts/app-server.md) as whole attempts see them. */

const HISTORY = [userRow('before'), assistantRow('then')];
const running: TurnPlay = (turn) => void turn.started().openMessage('so far');

describe('the order of the answer to turn/start and of what the turn says', () => {
  it.each(['after', 'same', 'before'] as const)(
    'notifications %s the answer: the same turn, to the last row',
    async (order) => {
      const controlled = controlledServices({ history: HISTORY, codex: { order } });
      const run = controlled.start({ attemptId: 'attempt-1' });
      const result = await run.result;
      const plain = controlledServices({ history: HISTORY });
      const expected = await plain.run({ attemptId: 'attempt-1' });
      expect(result).toEqual(expected);
      expect(controlled.session.messages()).toEqual(plain.session.messages());
      expect(controlled.session.state.binding).toEqual(plain.session.state.binding);
      expect(run.events.filter((event) => event.type === 'turn.completed')).toHaveLength(1);
    },
  );

  it('turn/started comes before the answer, the rest long after it', async () => {
    const controlled = controlledServices({ codex: { order: 'before', turns: [(turn) => void turn.started()] } });
    const run = controlled.start();
    await run.entered('turning');
    controlled.codex.turns[0]?.message('done').completed();
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'done', turnId: 'turn-1' });
  });
});

describe('an interrupt', () => {
  it.each([
    ['right after the answer, before turn/started: without a turn id', () => {}, ''],
    ['once turn/started was seen: with the turn id', running, 'turn-1'],
  ] as const)('%s', async (_name, play, turnId) => {
    const controlled = controlledServices({ codex: { turns: [play] } });
    const run = controlled.start();
    await controlled.script.called('codex.turn/start');
    await quiet();
    run.abort();
    expect((await run.result).outcome).toBe('aborted');
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: 'thread-1', turnId }]);
  });

  it('that is wanted before the answer waits for it', async () => {
    const held = gate();
    const controlled = controlledServices({ codex: { turns: [() => {}] }, plan: { 'codex.turn/start': held.step } });
    const run = controlled.start();
    await controlled.script.called('codex.turn/start');
    run.abort();
    await quiet();
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([]);
    held.pass();
    expect((await run.result).outcome).toBe('aborted');
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: 'thread-1', turnId: '' }]);
  });

  it('of somebody else is a failure with a code of its own', async () => {
    const controlled = controlledServices({ codex: { turns: [(turn) => turn.started().interrupted()] } });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code: 'interrupted_elsewhere' } });
  });

  it('is not ended by its own answer, nor by a marker in a message: only by turn/completed', async () => {
    const controlled = controlledServices({
      codex: {
        turns: [(turn) => void turn.started().user('<turn_aborted>').message('<turn_aborted>')],
        interruptible: false,
      },
    });
    const run = controlled.start();
    await run.entered('turning');
    await controlled.clock.advance(60_000);
    expect(run.paths().at(-1)).toBe('turning.running');
    run.abort();
    await controlled.clock.advance(1_999);
    expect(run.paths().at(-1)).toBe('turning.interrupting');
    controlled.codex.turns[0]?.interrupted();
    expect((await run.result).outcome).toBe('aborted');
  });
});

describe('what the app-server says', () => {
  it('unknown notifications, other threads and turns, and malformed ones change nothing', async () => {
    const noise = (turn: Parameters<TurnPlay>[0]) => {
      turn.notify('item/brandNew/happened', { what: 1 });
      turn.client.notify('turn/completed', { threadId: 'thread-other', turn: { id: turn.turnId, status: 'failed' } });
      turn.client.notify('turn/completed', { threadId: turn.threadId, turn: { id: 'turn-other', status: 'failed' } });
      turn.client.notify('turn/completed', {});
      turn.client.notify('item/completed', { threadId: turn.threadId, turnId: turn.turnId, item: null });
      turn.client.notify('thread/tokenUsage/updated', { threadId: turn.threadId, turnId: turn.turnId, tokenUsage: 7 });
      turn.client.notify('account/rateLimits/updated', { rateLimits: {} });
    };
    const play: TurnPlay = (turn) => {
      noise(turn);
      turn.started();
      noise(turn);
      turn.user().message(ANSWER);
      noise(turn);
      turn.usage({ input: 100, cached: 80, output: 5 });
      noise(turn);
      turn.completed();
      noise(turn);
    };
    const controlled = controlledServices({ history: HISTORY, codex: { turns: [play] } });
    const plain = controlledServices({ history: HISTORY });
    expect(await controlled.run({ attemptId: 'attempt-1' })).toEqual(await plain.run({ attemptId: 'attempt-1' }));
    expect(controlled.session.messages()).toEqual(plain.session.messages());
  });

  it('unknown server requests are refused, those of other threads are left alone, approvals are denied', async () => {
    const answers: unknown[] = [];
    const controlled = controlledServices({
      codex: {
        turns: [
          async (turn) => {
            turn.started();
            answers.push(await turn.ask('item/brandNew/request', {}));
            answers.push(
              await turn.client.ask('item/tool/call', {
                threadId: 'thread-other',
                turnId: 'x',
                callId: 'c',
                tool: 't',
              }),
            );
            answers.push(await turn.ask('item/commandExecution/requestApproval', { itemId: 'i', command: 'rm' }));
            turn.message('done').completed();
          },
        ],
      },
    });
    const result = await controlled.run();
    expect(answers).toEqual([{ error: 'refused' }, { error: 'refused' }, { decision: 'decline' }]);
    expect(result).toMatchObject({ outcome: 'completed', deniedApprovals: ['command'] });
  });

  it.each([
    ['completes', (turn) => turn.completed(), 'completed', 'last', [{ stopReason: 'stop' }]],
    ['fails', (turn) => turn.failed('broken'), 'failed', 'half', [{ stopReason: 'stop' }, { stopReason: 'error' }]],
    [
      'loses its process',
      (turn) => turn.client.end(null, 'SIGKILL'),
      'failed',
      'half',
      [{ stopReason: 'stop' }, { stopReason: 'error' }],
    ],
  ] as [string, TurnPlay, string, string, object[]][])(
    'a message that is never completed counts only when the turn does not complete: it %s',
    async (_name, end, outcome, text, rows) => {
      const controlled = controlledServices({
        codex: {
          turns: [
            (turn) => {
              turn.started().message('last').openMessage('half');
              return end(turn);
            },
          ],
        },
      });
      const result = await controlled.run();
      expect(result).toMatchObject({ outcome, text });
      expect(controlled.session.messages().filter((row) => row.role === 'assistant')).toMatchObject(rows);
      expect(controlled.session.messages().filter((row) => row.role === 'assistant')).toHaveLength(rows.length);
    },
  );

  it('a repeat of usage figures is not counted twice', async () => {
    const figures = { input: 100, cached: 80, output: 5 };
    const controlled = controlledServices({
      codex: {
        turns: [
          (turn) =>
            turn
              .started()
              .usage(figures)
              .repeatUsage(figures)
              .message('done')
              .usage({ input: 50, output: 1 })
              .repeatUsage({ input: 50, output: 1 })
              .completed(),
        ],
      },
    });
    expect((await controlled.run()).usage).toEqual({
      inputTokens: 150,
      cachedInputTokens: 80,
      outputTokens: 6,
      reasoningOutputTokens: 0,
      totalTokens: 156,
    });
  });

  it('figures of an earlier turn that a resume repeats are not of this turn', async () => {
    const figures = {
      totalTokens: 11,
      inputTokens: 10,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      outputTokens: 1,
      reasoningOutputTokens: 0,
    };
    const usage = (turnId: string) => ({ threadId: 'thread-9', turnId, tokenUsage: { total: figures, last: figures } });
    const controlled = controlledServices({
      binding: bindingOf(),
      // Between the answer to the resume and the turn: the hook runs just then.
      plan: {},
      codex: {
        turns: [
          (turn) => {
            turn.started();
            turn.client.notify('thread/tokenUsage/updated', usage(turn.turnId));
            turn.message('done').completed();
          },
        ],
      },
    });
    const hooks = controlled.services.hooks;
    if (hooks === undefined) throw new Error('there are hooks');
    const watched = Object.assign(Object.create(hooks), {
      has: () => true,
      notify: async (...args: Parameters<typeof hooks.notify>) => {
        if (args[0] === 'llm_input') {
          controlled.codex.client().notify('thread/tokenUsage/updated', usage('turn-earlier'));
        }
        return { value: undefined, failures: [] };
      },
      beforePromptBuild: async () => ({ value: {}, failures: [] }),
      beforeMessageWrite: async ({ message }: MessageWriteEvent) => ({ value: message, failures: [] }),
    });
    expect((await controlled.run({}, { hooks: watched })).usage).toBeNull();
  });

  it('an answer without ids is a refusal, not a crash', async () => {
    for (const [method, code] of [
      ['codex.thread/start', 'thread_failed'],
      ['codex.turn/start', 'turn_refused'],
    ] as const) {
      for (const value of [null, {}, { thread: {} }, { turn: { id: 7 } }, 'garbage']) {
        const controlled = controlledServices({ plan: { [method]: answer(value) } });
        expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code } });
      }
    }
  });
});

describe('a thread that is in use', () => {
  it('is never given a second turn/start: it would steer the running turn', async () => {
    const controlled = controlledServices({
      binding: bindingOf(),
      plan: {
        'codex.thread/resume': answer({ thread: { id: 'thread-9', status: { type: 'active' } }, model: 'gpt-test' }),
      },
    });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code: 'thread_busy' } });
    expect(controlled.script.of('codex.turn/start')).toEqual([]);
    expect(controlled.session.state.binding).toEqual(bindingOf());
  });

  it.each([
    ['another process writes it', 'thread thread-9 already has an active writer', 'thread_busy'],
    ['the configuration is wrong', 'failed to load configuration: unknown provider', 'thread_failed'],
    ['another thread is missing', 'no rollout found for thread id thread-8', 'thread_failed'],
  ])('a refusal to resume because %s is not staleness: failed, binding kept', async (_name, message, code) => {
    const controlled = controlledServices({
      binding: bindingOf(),
      plan: { 'codex.thread/resume': fail(refusal(message)) },
    });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code } });
    expect(controlled.script.of('codex.thread/start')).toEqual([]);
    expect(controlled.session.state.binding).toEqual(bindingOf());
  });
});

describe('two attempts on one app-server', () => {
  const pair = (plays: TurnPlay[], plan = {}) => {
    const first = controlledServices({ codex: { turns: plays }, plan });
    const second = controlledServices({
      shared: { codex: first.codex, clock: first.clock },
      sessionFile: '/controlled/second.jsonl',
      tools: ['lookup'],
    });
    return { first, second };
  };

  it('hear nothing of each other', async () => {
    const { first, second } = pair([
      (turn) => void turn.started(),
      async (turn) => {
        turn.started();
        expect(await turn.tool('lookup', { q: '1' })).toEqual({
          contentItems: [{ type: 'inputText', text: 'result of lookup' }],
          success: true,
        });
        turn.message('from the second').usage({ input: 7, output: 1 }).completed();
      },
    ]);
    const one = first.start();
    await one.entered('turning');
    const two = await second.run();
    expect(two).toMatchObject({ outcome: 'completed', text: 'from the second', threadId: 'thread-2' });
    expect(one.paths().at(-1)).toBe('turning.running');
    first.codex.turns[0]?.message('from the first').completed();
    const result = await one.result;
    expect(result).toMatchObject({ outcome: 'completed', text: 'from the first', usage: null, replaySafe: true });
    expect(JSON.stringify(first.session.messages())).not.toContain('second');
    expect(JSON.stringify(second.session.messages())).not.toContain('from the first');
    expect(one.events.filter((event) => event.type === 'thread.started')).toHaveLength(1);
  });

  it('one runs out of time and is interrupted: the other goes on in the same process', async () => {
    const { first, second } = pair([running, running]);
    const one = first.start({ budgets: { execution: 1_000 } });
    await one.entered('turning');
    const two = second.start();
    await two.entered('turning');
    await first.clock.advance(1_000);
    expect(await one.result).toMatchObject({ outcome: 'failed', error: { code: 'budget_execution' } });
    second.codex.turns[1]?.message('still here').completed();
    expect(await two.result).toMatchObject({ outcome: 'completed', text: 'still here' });
    expect(first.codex.clients).toHaveLength(1);
    expect(first.script.of('codex.retire')).toEqual([]);
  });

  it('the process goes away: both fail, and each is mirrored', async () => {
    const { first, second } = pair([running, running]);
    const one = first.start();
    await one.entered('turning');
    const two = second.start();
    await two.entered('turning');
    first.codex.client().end(null, 'SIGKILL');
    for (const run of [one, two]) {
      expect(await run.result).toMatchObject({
        outcome: 'failed',
        text: 'so far',
        error: { code: 'app_server_exited', message: 'codex app-server ended by SIGKILL' },
      });
    }
    for (const { session } of [first, second]) {
      expect(session.messages()).toMatchObject([{ role: 'user' }, { role: 'assistant', stopReason: 'error' }]);
    }
  });
});

it('a process that ends before the turn costs the attempt, and the next one has a new process', async () => {
  const controlled = controlledServices({ plan: { 'codex.thread/start': [fail(refusal('x')), pass] } });
  controlled.codex.client().end(1);
  expect((await controlled.run()).outcome).toBe('failed');
  controlled.codex.client().end(1);
  expect((await controlled.run()).outcome).toBe('completed');
  expect(controlled.codex.clients).toHaveLength(3);
});
