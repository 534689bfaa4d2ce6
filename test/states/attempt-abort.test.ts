import { describe, expect, it } from 'vitest';
import { quiet } from '../../src/testing/controlled/clock.ts';
import type { TurnPlay } from '../../src/testing/controlled/codex.ts';
import { refusal } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { fail, hang, type Plan, pass } from '../../src/testing/controlled/script.ts';
import { type Controlled, type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

/** An abort in every state and substate: what it comes to, who is called after it, and how long it takes (spec M4, E3). */

const HISTORY = [userRow('before'), assistantRow('then')];
const INTENT = {
  version: 1,
  attemptId: 'crashed',
  threadId: 'thread-0',
  turnId: 'turn-0',
  promptRow: {
    idempotencyKey: 'codex-attempt:crashed:prompt',
    message: userRow('lost', 'codex-attempt:crashed:prompt'),
  },
  realm: 'live',
} as const;

const running: TurnPlay = (turn) => void turn.started().openMessage('so far');

/** What may still be called after an abort in a turn: the interrupt, the mirror, the finalizer, the end. */
const ENDING = [
  'codex.turn/interrupt',
  'transcript.append',
  'transcript.read',
  'binding.write',
  'hook.llm_output',
  'hook.agent_end',
  'engine.afterTurn',
  'journal.clear',
  'transcript.close',
];

interface Case {
  state: string;
  setup?: ControlledSetup;
  plan: Plan;
}

/** Aborts in the state, lets time pass in steps until the attempt has ended, and tells what came after the abort. */
async function abortIn(
  given: Case,
): Promise<{ controlled: Controlled; after: string[]; took: number; outcome: string }> {
  const controlled = controlledServices({ history: HISTORY, ...given.setup, plan: given.plan });
  const run = controlled.start();
  await run.entered(given.state);
  const before = controlled.script.names().length;
  run.abort();
  run.abort();
  let settled = false;
  void run.result.then(() => {
    settled = true;
  });
  await quiet();
  let took = 0;
  while (!settled && took < 60_000) {
    await controlled.clock.advance(250);
    took += 250;
  }
  const result = await run.result;
  const after = controlled.script.names().slice(before);
  await controlled.clock.advance(3_600_000);
  // Nothing of the attempt goes on once it has settled.
  expect(controlled.script.names().slice(before)).toEqual(after);
  expect(controlled.codex.clients.map((client) => client.registered)).toEqual(controlled.codex.clients.map(() => 0));
  return { controlled, after, took, outcome: result.outcome };
}

const LEAVE = ['hook.agent_end', 'transcript.close'];

describe('an abort before the native turn ends the attempt, with nothing written', () => {
  it.each<Case>([
    { state: 'bootstrap.opening', plan: { 'transcript.open': hang } },
    { state: 'bootstrap.opening', plan: { 'journal.read': hang } },
    { state: 'bootstrap.recovering', setup: { intent: INTENT }, plan: { 'transcript.read': hang } },
    { state: 'bootstrap.reading', plan: { 'transcript.read': hang } },
    { state: 'bootstrap.engine', plan: { 'engine.bootstrap': hang } },
    { state: 'bootstrap.maintenance', plan: { 'engine.maintain': hang } },
    { state: 'bootstrap.rereading', plan: { 'transcript.read': [pass, hang] } },
    { state: 'assembling', plan: { 'engine.assemble': hang } },
    { state: 'hook-build', plan: { 'hook.before_prompt_build': hang } },
    { state: 'thread-start.connecting', plan: { 'codex.connect': hang } },
    { state: 'thread-start.starting', plan: { 'codex.thread/start': hang } },
    { state: 'thread-start.starting', plan: { 'hook.llm_input': hang } },
    {
      state: 'thread-start.resuming',
      setup: { binding: bindingOf() },
      plan: { 'codex.thread/resume': hang },
    },
  ])('$state', async (given) => {
    const { controlled, after, took, outcome } = await abortIn(given);
    expect({ outcome, took, after }).toEqual({ outcome: 'aborted', took: 0, after: LEAVE });
    for (const write of ['transcript.append', 'binding.write', 'journal.write', 'codex.turn/start']) {
      expect(controlled.script.of(write)).toEqual([]);
    }
  });

  it('before the start: the session is given back', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const run = controlled.start();
    run.abort();
    run.abort();
    const result = await run.result;
    expect(result).toMatchObject({
      outcome: 'aborted',
      states: ['bootstrap', 'aborted'],
      finalization: { method: 'none', ok: true, reason: 'not-accepted' },
      maintenance: { ran: false, reason: 'aborted' },
      degraded: [],
    });
    await quiet();
    expect(controlled.session.state.open).toBe(false);
    expect(controlled.session.messages()).toEqual(HISTORY);
  });

  it('an agent_end hook that hangs holds the end up for a second at most', async () => {
    const given: Case = {
      state: 'assembling',
      plan: { 'engine.assemble': hang, 'hook.agent_end': hang },
    };
    expect(await abortIn(given)).toMatchObject({ took: 1_000, outcome: 'aborted' });
  });
});

describe('an abort in the native turn', () => {
  it('interrupts it, then mirrors and finalizes, and calls nothing else', async () => {
    const { controlled, after, took, outcome } = await abortIn({
      state: 'turning',
      setup: { codex: { turns: [running] } },
      plan: {},
    });
    expect({ after, took, outcome }).toEqual({ after: ENDING, took: 0, outcome: 'aborted' });
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: 'thread-1', turnId: 'turn-1' }]);
    expect(controlled.session.messages().slice(2)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'so far' }], stopReason: 'aborted' },
    ]);
  });

  it('before its request was sent: it is never sent', async () => {
    const controlled = controlledServices({ history: HISTORY, plan: { 'journal.write': hang } });
    const run = controlled.start();
    await controlled.script.called('journal.write');
    await quiet();
    run.abort();
    await controlled.clock.advance(2_000);
    expect((await run.result).outcome).toBe('aborted');
    expect(controlled.script.of('codex.turn/start')).toEqual([]);
    expect(controlled.script.of('codex.retire')).toEqual([]);
  });

  it('before its request was sent, and the journal comes in time: it is not sent either', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const run = controlled.start();
    await controlled.script.called('journal.write');
    run.abort();
    expect((await run.result).outcome).toBe('aborted');
    expect(controlled.script.of('codex.turn/start')).toEqual([]);
  });

  it.each([
    ['the request is not answered', { 'codex.turn/start': hang }, true],
    ['the interrupt is not answered', { 'codex.turn/interrupt': hang }, true],
    ['the interrupt is refused', { 'codex.turn/interrupt': fail(refusal('no active turn to interrupt')) }, true],
  ] as const)('%s: two seconds, then the process is retired', async (_name, plan, retired) => {
    const { controlled, took, outcome, after } = await abortIn({
      state: 'turning',
      setup: { codex: { turns: [running] } },
      plan,
    });
    expect({ outcome, took }).toEqual({ outcome: 'aborted', took: 2_000 });
    expect(controlled.script.of('codex.retire')).toHaveLength(retired ? 1 : 0);
    expect(after.filter((name) => ![...ENDING, 'codex.retire'].includes(name))).toEqual([]);
  });

  it('that completes all the same is completed, and not maintained', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [(turn) => void turn.started().message('done')], interruptible: false },
    });
    const run = controlled.start();
    await run.entered('turning');
    run.abort();
    await quiet();
    controlled.codex.turns[0]?.completed();
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      text: 'done',
      finalization: { method: 'afterTurn', ok: true },
      maintenance: { ran: false, reason: 'aborted' },
    });
  });

  it('after the deadline: the turn has failed by its deadline, and the rest is hurried', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [running], interruptible: false },
      plan: { 'transcript.append': [pass, hang], 'engine.afterTurn': hang },
    });
    const run = controlled.start({ budgets: { execution: 10_000 } });
    await run.entered('turning');
    await controlled.clock.advance(10_000);
    run.abort();
    await controlled.clock.advance(2_000);
    await controlled.clock.advance(1_000);
    await controlled.clock.advance(2_000);
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'budget_execution' },
      maintenance: { ran: false, reason: 'failed-turn' },
    });
    expect(controlled.clock.now() - Date.UTC(2026, 0, 1)).toBe(15_000);
  });

  it('everything hangs after the abort: bounded all the same', async () => {
    const { took, outcome } = await abortIn({
      state: 'turning',
      setup: { codex: { turns: [running], interruptible: false } },
      plan: {
        'transcript.append': [pass, hang],
        'engine.afterTurn': hang,
        'hook.llm_output': hang,
        'hook.agent_end': hang,
        'journal.clear': hang,
        'transcript.close': hang,
        'codex.retire': hang,
      },
    });
    expect(outcome).toBe('aborted');
    // Interrupt 2 s, mirror 1 s, finalizer 2 s, two hooks 1 s each, what is left behind 4 s, giving back 2 s.
    expect(took).toBeLessThanOrEqual(13_000);
  });
});

describe('an abort after the native turn changes nothing of its outcome', () => {
  it.each<[string, Plan, number, object]>([
    [
      'mirroring',
      { 'transcript.append': [pass, hang] },
      1_000,
      {
        degraded: [{ state: 'mirroring', code: 'budget_graceMirror' }],
        finalization: { method: 'afterTurn', ok: true },
      },
    ],
    [
      'finalizing',
      { 'engine.afterTurn': hang },
      2_000,
      {
        degraded: [{ state: 'finalizing', code: 'budget_graceFinalize' }],
        finalization: { method: 'afterTurn', ok: false },
      },
    ],
    [
      'maintaining',
      { 'engine.maintain': [pass, hang] },
      0,
      { degraded: [], finalization: { method: 'afterTurn', ok: true } },
    ],
  ])('%s', async (state, plan, ms, expected) => {
    const controlled = controlledServices({ history: HISTORY, plan });
    const run = controlled.start();
    await run.entered(state);
    run.abort();
    if (ms > 0) await controlled.clock.advance(ms);
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      text: 'final answer',
      maintenance: { ran: false, reason: 'aborted' },
      ...expected,
    });
    const maintained = controlled.script.of('engine.maintain').length;
    expect(maintained).toBe(state === 'maintaining' ? 2 : 1);
  });

  it('a finalizer that is still at work when the abort comes is not cancelled', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const cancelled: boolean[] = [];
    const engine = Object.assign(Object.create(controlled.engine), {
      afterTurn: async (params: { abortSignal: AbortSignal }) => {
        run.abort();
        await quiet();
        cancelled.push(params.abortSignal.aborted);
      },
    });
    const run = controlled.start({}, { engine });
    expect(await run.result).toMatchObject({ finalization: { method: 'afterTurn', ok: true } });
    expect(cancelled).toEqual([false]);
  });

  it('after the end it does nothing', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const run = controlled.start();
    const result = await run.result;
    const names = controlled.script.names();
    run.abort();
    await quiet();
    expect(controlled.script.names()).toEqual(names);
    expect(await run.result).toBe(result);
  });
});

describe('an abort while room is made after an overflow', () => {
  const overflow: TurnPlay = (turn) => turn.started().user().failed('too large', 'contextWindowExceeded');

  it.each([
    ['compacting', { 'engine.compact': hang }],
    ['assembling', { 'engine.assemble': [pass, hang] }],
    ['hook-build', { 'hook.before_prompt_build': [pass, hang] }],
    ['thread-start', { 'codex.connect': [pass, hang] }],
  ] as const)('in %s: the rows of the turn that ran are mirrored, and the engine is told', async (state, plan) => {
    const controlled = controlledServices({
      history: HISTORY,
      engine: { info: { ownsCompaction: true } },
      codex: { turns: [overflow] },
      plan,
    });
    const run = controlled.start();
    await run.entered('compacting');
    if (state !== 'compacting') await run.entered(state);
    run.abort();
    await controlled.clock.advance(2_000);
    const result = await run.result;
    expect(result.outcome).toBe('aborted');
    expect(result.error).toBeUndefined();
    expect(result.states.slice(-3)).toEqual(['mirroring', 'finalizing', 'aborted']);
    expect(controlled.script.of('codex.turn/start')).toHaveLength(1);
    expect(controlled.script.of('engine.afterTurn')).toMatchObject([{ runtimeContext: { turnOutcome: 'aborted' } }]);
  });
});
