import { describe, expect, it } from 'vitest';
import { planThread } from '../../src/attempt/thread-plan.ts';
import { compactSession } from '../../src/compact-session.ts';
import type { BoundThread, NativeContext, ThreadBinding } from '../../src/ports.ts';
import { CONTEXT_TITLE } from '../../src/projection/neutralise.ts';
import type { TurnPlay } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { fail } from '../../src/testing/controlled/script.ts';
import {
  type Controlled,
  type ControlledSetup,
  controlledServices,
  WORK_FOLDER,
} from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';
import type { TokenFigures } from '../../src/testing/controlled/turn.ts';

/** When a native thread has no room left for a turn, an engine's context goes into a fresh one (RUN-11, BL-27). */

const HISTORY = [userRow('we began here'), assistantRow('and went on')];
const ENGINE = { id: 'controlled', policy: '' };
const WINDOW = 258_400;
const EPOCH = { assembly: { contextProjection: { mode: 'thread_bootstrap', epoch: 'epoch-1' } } };

const using =
  (...reports: TokenFigures[]): TurnPlay =>
  (turn) => {
    turn.started().message('ok');
    for (const report of reports) turn.usage(report);
    turn.completed();
  };

const threadsOf = (controlled: Controlled): string[] =>
  controlled.script.names().filter((name) => /^codex\.thread\/(?:start|resume)$/.test(name));
const inputsOf = (controlled: Controlled): string[] =>
  (controlled.script.of('codex.turn/start') as { input: { text: string }[] }[]).map(
    (turn) => turn.input[0]?.text ?? '',
  );
const boundOf = (controlled: Controlled): BoundThread | undefined => controlled.session.state.binding?.threads[0];

/** Two attempts; what the first one's turn reports is what the second one plans by. */
async function twice(turns: readonly TurnPlay[], setup: ControlledSetup = { engine: EPOCH }): Promise<Controlled> {
  const controlled = controlledServices({ history: HISTORY, codex: { turns }, ...setup });
  await controlled.run({ attemptId: 'attempt-1' });
  await controlled.run({ attemptId: 'attempt-2' });
  return controlled;
}

describe('planThread', () => {
  const plan = (context: NativeContext | undefined, promptChars: number, assembly: object | null = {}) =>
    planThread({
      binding: bindingOf({ toolFingerprint: 'f', engine: ENGINE, ...(context === undefined ? {} : { context }) }),
      toolFingerprint: 'f',
      engine: ENGINE,
      assembly: assembly === null ? null : { messages: [], ...assembly },
      promptChars,
      entries: [],
      forceStart: false,
    }).reason;

  it.each<[string, NativeContext | undefined, number, string]>([
    ['nothing is known', undefined, 4_000_000, 'bound'],
    ['the thread is empty', { tokens: 0, window: WINDOW }, 0, 'bound'],
    ['the turn fits to the last token', { tokens: 238_300, window: WINDOW }, 400, 'bound'],
    ['a character is too many', { tokens: 238_300, window: WINDOW }, 401, 'window-pressure'],
    ['RUN-11: the thread alone is too full', { tokens: 241_198, window: WINDOW }, 5, 'window-pressure'],
    ['the prompt alone is too long', { tokens: 1_000, window: WINDOW }, 950_000, 'window-pressure'],
    ['the window is small: half of it is kept free', { tokens: 5_000, window: 10_000 }, 0, 'bound'],
    ['the window is small, and half full', { tokens: 5_000, window: 10_000 }, 1, 'window-pressure'],
    ['the window is just twice the reserve', { tokens: 20_000, window: 40_000 }, 0, 'bound'],
    ['the thread is larger than its window', { tokens: 300_000, window: WINDOW }, 0, 'window-pressure'],
  ])('%s', (_name, context, promptChars, reason) => {
    expect(plan(context, promptChars)).toBe(reason);
  });

  it('without an assembly a full thread is Codex to compact', () => {
    expect(plan({ tokens: 300_000, window: WINDOW }, 0, null)).toBe('bound');
  });

  it('other reasons come first', () => {
    expect(plan({ tokens: 300_000, window: WINDOW }, 0, { contextProjection: { epoch: 'new' } })).toBe('epoch-changed');
  });
});

describe('a thread that is full', () => {
  it('RUN-11: is replaced by a fresh one with the context, in which the next turn goes on', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      engine: EPOCH,
      codex: {
        turns: [
          using({ input: 241_198, output: 10, window: WINDOW }),
          using({ input: 9_000, output: 10, window: WINDOW }),
        ],
      },
    });
    for (const attemptId of ['attempt-1', 'attempt-2', 'attempt-3']) await controlled.run({ attemptId });
    expect(threadsOf(controlled)).toEqual(['codex.thread/start', 'codex.thread/start', 'codex.thread/resume']);
    const [, second, third] = inputsOf(controlled);
    expect(second).toContain(CONTEXT_TITLE);
    expect(second).toContain('we began here');
    expect(third).toBe('hello');
    expect(controlled.session.state.binding?.threads).toMatchObject([
      { threadId: 'thread-2', epoch: 'epoch-1', context: { tokens: 9_000, window: WINDOW } },
    ]);
    expect(controlled.logged('codex context engine projection decided').map((line) => line.fields['reason'])).toEqual([
      'no-binding',
      'window-pressure',
      'bound',
    ]);
  });

  it('is told by the last request of the last turn, not by the sum of requests or turns', async () => {
    const busy = using(
      { input: 150_000, output: 5, window: WINDOW },
      { input: 160_000, output: 5, window: WINDOW },
      { input: 170_000, output: 5, window: WINDOW },
    );
    const controlled = await twice([busy]);
    expect(boundOf(controlled)?.context).toEqual({ tokens: 170_000, window: WINDOW });
    expect(threadsOf(controlled)).toEqual(['codex.thread/start', 'codex.thread/resume']);
  });

  it('counts what an engine projects into every turn', async () => {
    const history = [userRow(`begin ${'x'.repeat(100_000)} end`)];
    const turns = [using({ input: 220_000, output: 1, window: WINDOW })];
    const controlled = await twice(turns, { engine: {}, history });
    expect(threadsOf(controlled)).toEqual(['codex.thread/start', 'codex.thread/start']);
    expect(inputsOf(controlled)[1]).toContain('begin');
    const short = await twice(turns, { engine: {} });
    expect(threadsOf(short)).toEqual(['codex.thread/start', 'codex.thread/resume']);
  });

  it('stays bound when the fresh one cannot be started', async () => {
    const binding = bindingOf({ context: { tokens: 250_000, window: WINDOW } });
    const controlled = controlledServices({ history: HISTORY, binding, plan: { 'codex.thread/start': fail('no') } });
    expect((await controlled.run()).outcome).toBe('failed');
    expect(controlled.session.state.binding).toEqual(binding);
  });

  it.each<[string, ControlledSetup]>([
    ['there is no engine', { engine: null }],
    ['the engine does not answer', { plan: { 'engine.assemble': fail('no') } }],
  ])('is resumed when %s', async (_name, setup) => {
    const binding = bindingOf({ context: { tokens: 250_000, window: WINDOW } });
    const controlled = controlledServices({ history: HISTORY, binding, ...setup });
    await controlled.run();
    expect(threadsOf(controlled)).toEqual(['codex.thread/resume']);
  });
});

describe('what is known of a thread', () => {
  const FULL: NativeContext = { tokens: 200_000, window: WINDOW };
  const boundAfter = async (play: TurnPlay, binding: ThreadBinding = bindingOf({ context: FULL })) => {
    const controlled = controlledServices({ history: HISTORY, binding, codex: { turns: [play] } });
    await controlled.run();
    expect(threadsOf(controlled)).toEqual(['codex.thread/resume']);
    return boundOf(controlled);
  };
  const compacting: TurnPlay = (turn) => {
    turn.started().usage({ input: 210_000, output: 1, window: WINDOW });
    turn.item({ type: 'contextCompaction' });
  };

  it('is kept with the row that it has seen', async () => {
    expect(await boundAfter(using({ input: 205_000, output: 1, window: WINDOW }))).toMatchObject({
      seenEntryId: 'entry-3',
      context: { tokens: 205_000, window: WINDOW },
    });
  });

  it('stays when a turn reports nothing', async () => {
    expect((await boundAfter((turn) => turn.started().failed('broken')))?.context).toEqual(FULL);
  });

  it('is nothing while the window was not told', async () => {
    expect(await boundAfter(using({ input: 205_000, output: 1 }), bindingOf())).not.toHaveProperty('context');
  });

  it('is nothing after a native compaction in the turn, until another request is reported', async () => {
    const unknown = await boundAfter((turn) => {
      void compacting(turn);
      turn.completed();
    });
    expect(unknown).not.toHaveProperty('context');
    const known = await boundAfter((turn) => {
      void compacting(turn);
      turn.usage({ input: 30_000, output: 1, window: WINDOW }).completed();
    });
    expect(known?.context).toEqual({ tokens: 30_000, window: WINDOW });
  });

  it('is nothing after an explicit native compaction', async () => {
    const controlled = controlledServices({ history: HISTORY, binding: bindingOf({ context: FULL }), engine: null });
    const compacted = compactSession({ cwd: WORK_FOLDER }, controlled.services);
    await controlled.script.called('codex.thread/compact/start');
    const client = controlled.codex.client();
    const turn = { id: 'compaction', status: 'completed', items: [] };
    const item = { type: 'contextCompaction', id: 'item-1' };
    client.notify('turn/started', { threadId: 'thread-9', turn });
    client.notify('item/completed', { threadId: 'thread-9', turnId: turn.id, item });
    client.notify('turn/completed', { threadId: 'thread-9', turn });
    expect(await compacted.result).toMatchObject({ ok: true, compacted: true });
    expect(boundOf(controlled)).toEqual({ ...bindingOf().threads[0], instructionsHash: null });
  });
});
