/** Compactions and threads that are too full. BL-35, 36 and 38 are in states/compact.context-engine. */
import { describe, expect, it } from 'vitest';
import type { TurnPlay } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

describe('BL-34: a native compaction in a turn is over when its item is', () => {
  const COMPACTION = { type: 'contextCompaction', id: 'compaction-1' };

  it.each<[string, TurnPlay, boolean]>([
    ['that is told from its beginning to its end', (turn) => void turn.item(COMPACTION), true],
    ['of which only the end is told', (turn) => void turn.finish(COMPACTION), true],
    [
      'whose end is told twice',
      (turn) => {
        turn.item(COMPACTION);
        turn.finish(COMPACTION);
      },
      true,
    ],
    ['that never ends', (turn) => void turn.begin(COMPACTION), false],
  ])('one %s', async (_name, compacts, completed) => {
    const play: TurnPlay = (turn) => {
      void compacts(turn.started());
      turn.message('done').completed();
    };
    const run = controlledServices({ codex: { turns: [play] } }).start();
    expect((await run.result).outcome).toBe('completed');
    const told = run.events.filter(({ type }) => type === 'attempt.compaction');
    expect(told).toMatchObject([{ phase: 'start' }, { phase: 'end', completed }]);
  });
});

describe('BL-39: a turn that is asked again after an overflow has its budget like any other', () => {
  it.each<[string, TurnPlay]>([
    ['it says nothing', () => undefined],
    ['it begins and does not end', (turn) => void turn.started()],
  ])('%s: it ends with the budget, and the session is free', async (_name, retry) => {
    const controlled = controlledServices({
      engine: { info: { ownsCompaction: true } },
      codex: {
        turns: [
          (turn) => turn.started().user().failed('too large', 'contextWindowExceeded'),
          retry,
          (turn) => turn.plain(),
        ],
      },
    });
    const run = controlled.start({ budgets: { execution: 60_000 } });
    await controlled.script.until(() => controlled.script.of('codex.turn/start').length === 2);
    await run.entered('turning');
    await controlled.clock.advance(60_000);
    await controlled.clock.advance(2_000);
    expect(await run.result).toMatchObject({ outcome: 'failed' });
    expect(controlled.script.of('engine.compact')).toHaveLength(1);
    expect(controlled.script.of('codex.turn/start')).toHaveLength(2);
    expect(controlled.session.state).toMatchObject({ open: false, intent: null });
    expect((await controlled.run()).outcome).toBe('completed');
  });
});

it('BL-26: without an engine a thread that is full is left to Codex to compact: it is resumed, not dropped', async () => {
  const controlled = controlledServices({
    engine: null,
    history: [userRow('we began here'), assistantRow('and went on')],
    binding: bindingOf({ context: { tokens: 300_000, window: 258_400 } }),
  });
  expect((await controlled.run()).threadId).toBe('thread-9');
  expect(controlled.script.names()).not.toContain('codex.thread/start');
});
