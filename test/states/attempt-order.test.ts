import { describe, expect, it } from 'vitest';
import { refusal } from '../../src/testing/controlled/codex.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { deaf, fail, hang, pass } from '../../src/testing/controlled/script.ts';
import { type Controlled, type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

/** The order of a turn (spec 2) as one list of every call that the attempt makes of the world. */

const HISTORY = [userRow('before'), assistantRow('then')];

const OPENING = ['transcript.open', 'binding.read', 'journal.read', 'transcript.read'];
const BOOTSTRAP = ['engine.bootstrap', 'engine.maintain', 'transcript.read'];
const BEFORE_THE_TURN = ['engine.assemble', 'hook.before_prompt_build', 'codex.connect', 'codex.thread/start'];
const REQUEST = ['hook.llm_input', 'journal.write', 'codex.turn/start'];
const STARTED = ['binding.write', 'transcript.append', 'journal.write'];
const MIRROR = ['transcript.append', 'transcript.read', 'binding.write', 'hook.llm_output', 'hook.agent_end'];
const PREPARED = [...OPENING, ...BOOTSTRAP, ...BEFORE_THE_TURN, ...REQUEST];

/** Only the last two arguments of `agent_end` events that hosts act on. */
const agentEnds = (controlled: Controlled): object[] =>
  controlled.script.of('hook.agent_end').map((params) => {
    const { event } = params as { event: Record<string, unknown> };
    const { outcome, success, aborted, timedOut, error } = event;
    return { outcome, success, aborted, timedOut, ...(error === undefined ? {} : { error }) };
  });

describe('the order of calls', () => {
  it('of a completed turn', async () => {
    const controlled = controlledServices({ history: HISTORY });
    expect((await controlled.run()).outcome).toBe('completed');
    expect(controlled.script.names()).toEqual([
      ...PREPARED,
      ...STARTED,
      ...MIRROR,
      'engine.afterTurn',
      'journal.clear',
      'engine.maintain',
      'transcript.close',
    ]);
  });

  it('of a resumed turn, with instructions that the thread does not know', async () => {
    const controlled = controlledServices({ history: HISTORY, binding: bindingOf() });
    await controlled.run({ developerInstructions: 'new' });
    expect(controlled.script.names()).toEqual([
      ...OPENING,
      ...BOOTSTRAP,
      'engine.assemble',
      'hook.before_prompt_build',
      'codex.connect',
      'codex.thread/resume',
      'hook.llm_input',
      'codex.thread/inject_items',
      ...REQUEST.slice(1),
      ...STARTED,
      ...MIRROR,
      'engine.afterTurn',
      'journal.clear',
      'engine.maintain',
      'transcript.close',
    ]);
  });

  it('of the first turn of a session: no bootstrap', async () => {
    const controlled = controlledServices();
    await controlled.run();
    expect(controlled.script.names().slice(0, 6)).toEqual([...OPENING, 'engine.assemble', 'hook.before_prompt_build']);
  });

  it('of a failed turn', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [(turn) => turn.started().failed('broken')] },
    });
    expect((await controlled.run()).outcome).toBe('failed');
    expect(controlled.script.names()).toEqual([
      ...PREPARED,
      ...STARTED,
      ...MIRROR,
      'engine.afterTurn',
      'journal.clear',
      'transcript.close',
    ]);
  });

  it('of a turn that the app-server refused', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      plan: { 'codex.turn/start': fail(refusal('no such model')) },
    });
    expect(await controlled.run()).toMatchObject({
      outcome: 'failed',
      error: { code: 'turn_refused', message: 'no such model' },
    });
    expect(controlled.script.names()).toEqual([
      ...PREPARED,
      ...['transcript.append', 'transcript.read', 'hook.llm_output', 'hook.agent_end'],
      'engine.afterTurn',
      'journal.clear',
      'transcript.close',
    ]);
    expect(controlled.session.state.binding).toBeNull();
  });

  it('of an aborted turn', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [(turn) => void turn.started().openMessage('so far')] },
    });
    const run = controlled.start();
    await run.entered('turning');
    run.abort();
    expect(await run.result).toMatchObject({ outcome: 'aborted', text: 'so far' });
    expect(controlled.script.names()).toEqual([
      ...PREPARED,
      ...STARTED,
      'codex.turn/interrupt',
      ...MIRROR,
      'engine.afterTurn',
      'journal.clear',
      'transcript.close',
    ]);
  });

  it('of a yielded turn', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      tools: ['pause'],
      toolResults: { pause: { text: 'paused', yield: true } },
      codex: { turns: [async (turn) => void (await turn.started().tool('pause', {}))] },
    });
    expect((await controlled.run()).outcome).toBe('yielded');
    expect(controlled.script.names()).toEqual([
      ...PREPARED,
      // The tool runs while the writes of turn/started are under way.
      'binding.write',
      'tool.pause',
      'transcript.append',
      'journal.write',
      'codex.turn/interrupt',
      ...MIRROR,
      'engine.afterTurn',
      'journal.clear',
      'transcript.close',
    ]);
  });

  it('of a turn with a durable engine: the outbox first, then the engine, then off the outbox', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      engine: { info: DURABLE_INFO, methods: DURABLE_METHODS },
    });
    await controlled.run();
    expect(controlled.script.names()).toEqual([
      ...OPENING.slice(0, 3),
      'outbox.list',
      'transcript.read',
      ...BOOTSTRAP,
      ...BEFORE_THE_TURN,
      ...REQUEST,
      ...STARTED,
      'journal.write',
      ...MIRROR,
      'outbox.add',
      'outbox.list',
      'engine.commitTurn',
      'outbox.remove',
      'journal.clear',
      'engine.maintain',
      'transcript.close',
    ]);
  });

  it('of an overflow that an owning engine makes room for: the same prompt on a fresh thread, once', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      engine: { info: { ownsCompaction: true } },
      hooks: ['before_compaction', 'after_compaction', 'agent_end'],
      codex: {
        turns: [
          (turn) => turn.started().user().failed('too large', 'contextWindowExceeded'),
          (turn) => turn.plain('fits now'),
        ],
      },
    });
    const result = await controlled.run();
    expect(result).toMatchObject({ outcome: 'completed', text: 'fits now', threadId: 'thread-2', turnId: 'turn-2' });
    expect(controlled.script.names()).toEqual([
      ...OPENING,
      ...BOOTSTRAP,
      'engine.assemble',
      'codex.connect',
      'codex.thread/start',
      'journal.write',
      'codex.turn/start',
      ...STARTED,
      'hook.before_compaction',
      'engine.compact',
      'hook.after_compaction',
      'engine.maintain',
      'engine.assemble',
      'codex.connect',
      'codex.thread/start',
      'journal.write',
      'codex.turn/start',
      ...STARTED,
      'transcript.append',
      'transcript.read',
      'binding.write',
      'hook.agent_end',
      'engine.afterTurn',
      'journal.clear',
      'engine.maintain',
      'transcript.close',
    ]);
    const prompts = controlled.session.messages().filter((row) => row.idempotencyKey?.endsWith(':prompt'));
    expect(prompts).toHaveLength(1);
  });
});

describe('agent_end', () => {
  const overBudget = (name: string, ms: number) => ({
    code: `budget_${name}`,
    message: expect.stringContaining(`the ${name} budget of ${ms} ms ran out`),
  });

  it.each([
    ['completed', {}, { outcome: 'completed', success: true, aborted: false, timedOut: false }],
    [
      'failed by the model',
      { codex: { turns: [(turn) => turn.started().failed('broken')] } },
      {
        outcome: 'failed',
        success: false,
        aborted: false,
        timedOut: false,
        error: { code: 'turn_failed', message: 'broken' },
      },
    ],
    [
      'failed before a turn',
      { plan: { 'codex.connect': fail('no binary') } },
      {
        outcome: 'failed',
        success: false,
        aborted: false,
        timedOut: false,
        error: { code: 'codex_crashed', message: 'no binary' },
      },
    ],
    [
      'failed before the session was read',
      { plan: { 'transcript.open': fail('no such disk') } },
      {
        outcome: 'failed',
        success: false,
        aborted: false,
        timedOut: false,
        error: { code: 'session_unreadable', message: 'no such disk' },
      },
    ],
    [
      'yielded',
      {
        tools: ['pause'],
        toolResults: { pause: { text: '', yield: true } },
        codex: { turns: [async (turn) => void (await turn.started().tool('pause', {}))] },
      },
      { outcome: 'yielded', success: true, aborted: false, timedOut: false },
    ],
  ] satisfies [string, ControlledSetup, object][])('is told once: %s', async (_name, setup, expected) => {
    const controlled = controlledServices(setup);
    await controlled.run();
    expect(agentEnds(controlled)).toEqual([expected]);
  });

  it.each([
    ['bootstrap.opening', 'transcript.open'],
    ['assembling', 'engine.assemble'],
    ['thread-start', 'codex.connect'],
    ['turning', 'codex.turn/start'],
  ])('is told once: aborted in %s', async (state, call) => {
    const controlled = controlledServices({ plan: { [call]: hang } });
    const run = controlled.start();
    await run.entered(state);
    run.abort();
    await controlled.clock.advance(5_000);
    expect((await run.result).outcome).toBe('aborted');
    expect(agentEnds(controlled)).toEqual([{ outcome: 'aborted', success: false, aborted: true, timedOut: false }]);
  });

  it.each([
    ['execution', { 'tool.none': pass }, 'turning', 48 * 3_600_000],
    ['threadStart', { 'codex.thread/start': hang }, 'thread-start.starting', 60_000],
    ['store', { 'transcript.open': hang }, 'bootstrap.opening', 30_000],
  ] as const)('is told once: the %s budget ran out', async (budget, plan, state, ms) => {
    const controlled = controlledServices({ plan, codex: { turns: [(turn) => void turn.started()] } });
    const run = controlled.start();
    await run.entered(state);
    await controlled.clock.advance(ms);
    expect(await run.result).toMatchObject({ outcome: 'failed', error: overBudget(budget, ms) });
    expect(agentEnds(controlled)).toEqual([
      { outcome: 'failed', success: false, aborted: false, timedOut: true, error: overBudget(budget, ms) },
    ]);
  });

  it.each([
    ['the mirror hangs', { 'transcript.append': [pass, hang] }],
    ['the mirror hangs and hears no signal', { 'transcript.append': [pass, deaf] }],
    ['the mirror fails', { 'transcript.append': fail('disk full') }],
    ['the binding hangs', { 'binding.write': [pass, hang] }],
  ] as const)('and llm_output before it are told once though %s', async (_name, plan) => {
    const controlled = controlledServices({ plan });
    const run = controlled.start();
    await run.entered('turning');
    await controlled.clock.advance(5_000);
    await controlled.clock.advance(30_000);
    await controlled.clock.advance(4_000);
    expect((await run.result).outcome).toBe('completed');
    expect(controlled.script.names().filter((name) => /hook\.(?:llm_output|agent_end)/.test(name))).toEqual([
      'hook.llm_output',
      'hook.agent_end',
    ]);
    expect(controlled.script.of('hook.llm_output')).toMatchObject([{ event: { text: 'final answer' } }]);
  });

  it('gets the messages of the session and of the turn', async () => {
    const controlled = controlledServices({ history: HISTORY });
    await controlled.run({ attemptId: 'attempt-1' });
    expect(controlled.script.of('hook.agent_end')).toMatchObject([
      {
        event: { durationMs: 0, messages: controlled.session.messages() },
        context: { attemptId: 'attempt-1', threadId: 'thread-1', turnId: 'turn-1', modelId: 'gpt-test' },
      },
    ]);
  });
});
