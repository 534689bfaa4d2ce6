/** Turns that take long or never end. The table of all faults is in faults/engine. */
import { describe, expect, it } from 'vitest';
import type { TurnPlay } from '../../src/testing/controlled/codex.ts';
import { controlledServices } from '../../src/testing/controlled/services.ts';

const silent: TurnPlay = () => {};

describe('BL-40: only the execution budget ends a turn', () => {
  it('one that speaks every 40 seconds for an hour lives', async () => {
    const controlled = controlledServices({ codex: { turns: [silent] } });
    const run = controlled.start();
    await run.entered('turning');
    const [turn] = controlled.codex.turns;
    const id = turn?.started().begin({ type: 'agentMessage', text: '' }) ?? '';
    for (let second = 0; second < 3_600; second += 40) {
      turn?.delta(id, '.');
      await controlled.clock.advance(40_000);
    }
    expect(run.paths().at(-1)).toBe('turning.running');
    turn?.finish({ type: 'agentMessage', id, text: 'done' });
    turn?.completed();
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'done' });
  });

  it('notices about the account are no progress: the budget runs out all the same', async () => {
    const controlled = controlledServices({ codex: { turns: [silent] } });
    const run = controlled.start({ budgets: { execution: 60_000 } });
    await run.entered('turning');
    const [turn] = controlled.codex.turns;
    turn?.started();
    for (let second = 0; second < 60; second += 20) {
      turn?.client.notify('account/rateLimits/updated', { rateLimits: {} });
      await controlled.clock.advance(20_000);
    }
    expect(await run.result).toMatchObject({ outcome: 'failed', error: { code: 'budget_execution' } });
  });
});

describe('BL-41: a turn that was accepted and then says nothing at all', () => {
  it.each([
    ['answers the interrupt', true, 0],
    ['does not answer the interrupt either', false, 1],
  ])('%s: it ends by its budget, and the session is free', async (_name, interruptible, retired) => {
    const controlled = controlledServices({
      codex: { turns: [silent, (turn) => turn.plain()], interruptible },
    });
    const run = controlled.start({ budgets: { execution: 60_000 } });
    await run.entered('turning');
    await controlled.clock.advance(60_000);
    await controlled.clock.advance(2_000);
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'budget_execution' },
      finalization: { ok: true },
      maintenance: { ran: false, reason: 'failed-turn' },
    });
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: 'thread-1', turnId: '' }]);
    expect(controlled.script.of('codex.retire')).toHaveLength(retired);
    expect(controlled.session.state).toMatchObject({ open: false, intent: null });
    expect(await controlled.run()).toMatchObject({ outcome: 'completed', degraded: [] });
    expect(controlled.codex.clients).toHaveLength(1 + retired);
  });
});
