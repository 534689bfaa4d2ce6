import { describe, expect, it } from 'vitest';
import type { AttemptParams } from '../../src/attempt/types.ts';
import type { TurnPlay } from '../../src/testing/controlled/codex.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { gate, hang, pass } from '../../src/testing/controlled/script.ts';
import { type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

/** Every budget, by the default figures of the machine; those of store, engine and hooks are in attempt-degrade. */

const HISTORY = [userRow('before'), assistantRow('then')];
const DAY = 24 * 3_600_000;
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
const overflow: TurnPlay = (turn) => turn.started().user().failed('too large', 'contextWindowExceeded');

interface Case {
  name: string;
  setup: ControlledSetup;
  state: string;
  ms: number;
  expected: object;
  params?: Partial<AttemptParams>;
}

describe('a budget that runs out', () => {
  it.each<Case>([
    {
      name: 'store, in recovering',
      setup: { intent: INTENT, plan: { 'transcript.read': [hang, pass] } },
      state: 'bootstrap.recovering',
      ms: 30_000,
      expected: { outcome: 'completed', degraded: [{ state: 'bootstrap.recovering', code: 'budget_store' }] },
    },
    {
      name: 'half of store, for a thread that does not say what became of a crashed turn',
      setup: { intent: INTENT, plan: { 'codex.connect': [hang, pass] } },
      state: 'bootstrap.recovering',
      ms: 15_000,
      expected: { outcome: 'completed', degraded: [{ state: 'bootstrap.recovering', code: 'recovery_failed' }] },
    },
    {
      name: 'bootstrap, in draining: the engine is suspended',
      setup: { engine: { info: DURABLE_INFO, methods: DURABLE_METHODS }, plan: { 'outbox.list': [hang, pass] } },
      state: 'bootstrap.draining',
      ms: 60_000,
      expected: {
        outcome: 'completed',
        degraded: [
          { state: 'bootstrap.draining', code: 'budget_bootstrap' },
          { state: 'finalizing', code: 'engine_suspended' },
        ],
        finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'engine_suspended' },
      },
    },
    {
      name: 'threadStart, in connecting',
      setup: { plan: { 'codex.connect': hang } },
      state: 'thread-start.connecting',
      ms: 60_000,
      expected: { outcome: 'failed', error: { code: 'budget_threadStart' }, threadId: null },
    },
    {
      name: 'threadStart, in resuming: the binding stays',
      setup: { binding: bindingOf(), plan: { 'codex.thread/resume': hang } },
      state: 'thread-start.resuming',
      ms: 60_000,
      expected: { outcome: 'failed', error: { code: 'budget_threadStart' } },
    },
    {
      name: 'threadStart, in starting',
      setup: { plan: { 'codex.thread/start': hang } },
      state: 'thread-start.starting',
      ms: 60_000,
      expected: { outcome: 'failed', error: { code: 'budget_threadStart' } },
    },
    {
      name: 'threadStart, after an overflow: the turn that ran is mirrored',
      setup: {
        engine: { info: { ownsCompaction: true } },
        codex: { turns: [overflow] },
        plan: { 'codex.connect': [pass, hang] },
      },
      state: 'thread-start.connecting',
      ms: 60_000,
      expected: {
        outcome: 'failed',
        error: { code: 'budget_threadStart' },
        finalization: { method: 'afterTurn', ok: true },
        maintenance: { ran: false, reason: 'failed-turn' },
      },
    },
    {
      name: 'execution: interrupted, mirrored as failed',
      setup: { codex: { turns: [running] } },
      state: 'turning',
      ms: 2 * DAY,
      expected: {
        outcome: 'failed',
        text: 'so far',
        error: { code: 'budget_execution' },
        finalization: { method: 'afterTurn', ok: true },
        maintenance: { ran: false, reason: 'failed-turn' },
      },
    },
    {
      name: 'execution, as the caller sets it',
      setup: { codex: { turns: [running] } },
      params: { budgets: { execution: 1_500 } },
      state: 'turning',
      ms: 1_500,
      expected: { outcome: 'failed', error: { code: 'budget_execution' } },
    },
    {
      name: 'request: no answer to turn/start',
      setup: { plan: { 'codex.turn/start': hang } },
      state: 'turning',
      ms: 30_000,
      expected: { outcome: 'failed', error: { code: 'turn_unanswered' }, turnId: null },
    },
    {
      name: 'compact, after an overflow: the overflow stands',
      setup: {
        engine: { info: { ownsCompaction: true } },
        codex: { turns: [overflow] },
        plan: { 'engine.compact': hang },
      },
      state: 'compacting',
      ms: 600_000,
      expected: {
        outcome: 'failed',
        error: { code: 'context_window_exceeded' },
        degraded: expect.arrayContaining([expect.objectContaining({ state: 'compacting', code: 'budget_compact' })]),
      },
    },
  ])('$name', async ({ setup, state, ms, expected, params = {} }) => {
    const controlled = controlledServices({ history: HISTORY, ...setup });
    const run = controlled.start(params);
    let settled = false;
    void run.result.then(() => {
      settled = true;
    });
    await run.entered(state);
    await controlled.clock.advance(ms - 1);
    expect(settled).toBe(false);
    await controlled.clock.advance(1);
    expect(await run.result).toMatchObject(expected);
  });

  it('a crashed turn keeps its prompt row when its thread does not answer', async () => {
    const controlled = controlledServices({ intent: INTENT, plan: { 'codex.connect': [hang, pass] } });
    const run = controlled.start();
    await run.entered('bootstrap.recovering');
    await controlled.clock.advance(15_000);
    expect((await run.result).outcome).toBe('completed');
    expect(controlled.session.messages().map((row) => [row.role, 'stopReason' in row ? row.stopReason : null])).toEqual(
      [
        ['user', null],
        ['assistant', 'aborted'],
        ['user', null],
        ['assistant', 'stop'],
      ],
    );
    expect(controlled.session.messages()[0]).toEqual(INTENT.promptRow.message);
  });

  it('a turn/start without an answer: the process is retired, and the next attempt has a new one', async () => {
    const controlled = controlledServices({ history: HISTORY, plan: { 'codex.turn/start': [hang, pass] } });
    const run = controlled.start();
    await run.entered('turning');
    await controlled.clock.advance(30_000);
    await run.result;
    expect(controlled.script.of('codex.retire')).toHaveLength(1);
    expect((await controlled.run()).outcome).toBe('completed');
    expect(controlled.codex.clients).toHaveLength(2);
  });

  it('a deadline that the app-server does not answer: two seconds, then the process is retired', async () => {
    const controlled = controlledServices({ codex: { turns: [running], interruptible: false } });
    const run = controlled.start({ budgets: { execution: 1_000 } });
    await run.entered('turning');
    await controlled.clock.advance(1_000);
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: 'thread-1', turnId: 'turn-1' }]);
    await controlled.clock.advance(1_999);
    expect(controlled.script.of('codex.retire')).toEqual([]);
    await controlled.clock.advance(1);
    expect(await run.result).toMatchObject({ outcome: 'failed', text: 'so far', error: { code: 'budget_execution' } });
    expect(controlled.script.of('codex.retire')).toHaveLength(1);
  });

  it('drain: a tool that is still at work when its turn has ended is waited for five seconds', async () => {
    const controlled = controlledServices({
      tools: ['slow'],
      plan: { 'tool.slow': hang },
      codex: {
        turns: [
          (turn) => {
            turn.started();
            void turn.tool('slow', {});
            turn.message('done').completed();
          },
        ],
      },
    });
    const run = controlled.start();
    await run.entered('turning');
    await controlled.clock.advance(4_999);
    expect(run.paths()).not.toContain('mirroring.writing');
    await controlled.clock.advance(1);
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'done', replaySafe: false });
  });
});

describe('an execution budget of 0', () => {
  it('is none: a quiet turn lives for a month and then completes', async () => {
    const controlled = controlledServices({ codex: { turns: [running] } });
    const run = controlled.start({ budgets: { execution: 0 } });
    await run.entered('turning');
    await controlled.clock.advance(30 * DAY);
    expect(run.paths().at(-1)).toBe('turning.running');
    controlled.codex.turns[0]?.completed();
    expect((await run.result).outcome).toBe('completed');
  });
});

describe('background maintenance', () => {
  it('is handed over at once; the next attempt waits for it before it bootstraps', async () => {
    const held = gate();
    const controlled = controlledServices({
      history: HISTORY,
      sessionFile: '/controlled/background-1.jsonl',
      engine: { info: { turnMaintenanceMode: 'background' } },
      plan: { 'engine.maintain': [pass, held.step] },
    });
    expect((await controlled.run()).maintenance).toEqual({ ran: true, mode: 'background' });
    const next = controlled.start();
    await next.entered('bootstrap.draining');
    expect(controlled.script.of('engine.bootstrap')).toHaveLength(1);
    held.pass();
    expect((await next.result).degraded).toEqual([]);
    expect(controlled.script.of('engine.bootstrap')).toHaveLength(2);
  });

  it('that does not end suspends the engine for the next attempt', async () => {
    const held = gate();
    const controlled = controlledServices({
      history: HISTORY,
      sessionFile: '/controlled/background-2.jsonl',
      engine: { info: { turnMaintenanceMode: 'background' } },
      plan: { 'engine.maintain': [pass, held.step] },
    });
    await controlled.run();
    const next = controlled.start();
    await next.entered('bootstrap.draining');
    await controlled.clock.advance(60_000);
    expect(await next.result).toMatchObject({
      outcome: 'completed',
      degraded: [{ state: 'bootstrap.draining' }],
    });
    expect(controlled.script.of('engine.assemble')).toHaveLength(1);
    held.pass();
  });
});
