// Explicit compaction at the ports (spec 8, 12): who compacts first, whose result it is, what counts as done, and what
// each obstacle is called. With the real app-server: test/real/compact-session.test.ts.
import { describe, expect, it } from 'vitest';
import { type CompactionHandle, type CompactionResult, compactSession } from '../../src/compact-session.ts';
import { AttemptError } from '../../src/errors.ts';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { refusal } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, deaf, fail, hang, type Plan } from '../../src/testing/controlled/script.ts';
import {
  type Controlled,
  type ControlledSetup,
  controlledServices,
  WORK_FOLDER,
} from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

const THREAD = 'thread-9';
const OWNER = { info: { ownsCompaction: true } };
const HISTORY = [userRow('we began here'), assistantRow('and went on')];
const HOOKS = ['before_compaction', 'after_compaction'] as const;

interface Compacting {
  controlled: Controlled;
  handle: CompactionHandle;
  /** What the app-server says of a thread. */
  say(method: string, params: object, threadId?: string): Promise<void>;
  /** `turn/started` … `turn/completed` of a compaction that succeeds. */
  succeed(): Promise<void>;
  /** The native compaction has been asked for. */
  asked(): Promise<void>;
}

const TURN = { id: 'turn-c', status: 'completed', items: [] };
const ITEM = { type: 'contextCompaction', id: 'compact-1' };

function compacting(setup: ControlledSetup = {}, params: object = {}): Compacting {
  const controlled = controlledServices({
    history: HISTORY,
    binding: bindingOf({ context: { tokens: 123, window: 1_000 } }),
    engine: null,
    hooks: HOOKS,
    ...setup,
  });
  const handle = compactSession({ cwd: WORK_FOLDER, ...params }, controlled.services);
  const say: Compacting['say'] = async (method, said, threadId = THREAD) => {
    controlled.codex.clients.at(-1)?.notify(method, { threadId, ...said });
    await quiet();
  };
  return {
    controlled,
    handle,
    say,
    async succeed() {
      await say('turn/started', { turn: { ...TURN, status: 'inProgress' } });
      await say('item/started', { turnId: TURN.id, item: ITEM });
      await say('item/completed', { turnId: TURN.id, item: ITEM });
      await say('turn/completed', { turn: TURN });
    },
    async asked() {
      await controlled.script.called('codex.thread/compact/start');
      await quiet();
    },
  };
}

const hooksOf = ({ script }: Controlled) =>
  script.calls
    .filter(({ name }) => name.startsWith('hook.'))
    .map(({ name, params }) => {
      const { event } = params as { event: { backend: string; compactedCount?: number } };
      return [name.slice('hook.'.length), event.backend, event.compactedCount];
    });
const nativeOf = (result: CompactionResult) => result.details.codexNativeCompaction;

describe('an engine that owns compaction', () => {
  it('comes first and is the result; the native thread follows (K1, CMP-A6)', async () => {
    const result = { summary: 's', firstKeptEntryId: 'e', tokensBefore: 55, tokensAfter: 5, details: { engine: 'x' } };
    const { controlled, handle, succeed, asked } = compacting(
      { engine: OWNER, plan: { 'engine.compact': answer({ ok: true, compacted: true, result }) } },
      { tokenBudget: 777, customInstructions: 'keep names' },
    );
    await asked();
    await succeed();
    expect(await handle.result).toMatchObject({
      ok: true,
      compacted: true,
      primary: 'engine',
      reason: null,
      tokensBefore: 55,
      tokensAfter: 5,
      result,
      details: {
        contextEngineCompaction: { ok: true, compacted: true },
        contextEngineMaintenance: { ok: true },
        codexNativeCompaction: { ok: true, compacted: true, backend: 'codex-app-server', threadId: THREAD },
      },
    });
    const calls = controlled.script.names().filter((name) => /^(?:engine|codex\.thread)/.test(name));
    expect(calls).toEqual([
      'engine.bootstrap',
      'engine.maintain',
      'engine.compact',
      'engine.maintain',
      'codex.thread/resume',
      'codex.thread/compact/start',
    ]);
    expect(controlled.script.of('engine.compact')).toMatchObject([
      {
        force: true,
        compactionTarget: 'threshold',
        tokenBudget: 777,
        currentTokenCount: 123,
        customInstructions: 'keep names',
        runtimeContext: { manualCompaction: true, currentTokenCount: 123, tokenBudget: 777 },
        runtimeSettings: { executionHost: { id: 'codex-app-server' }, limits: { promptTokenBudget: 777 } },
      },
    ]);
    expect(hooksOf(controlled)).toEqual([
      ['before_compaction', 'context-engine', undefined],
      ['after_compaction', 'context-engine', 1],
      ['before_compaction', 'codex-app-server', undefined],
      ['after_compaction', 'codex-app-server', -1],
    ]);
  });

  it('may fail in its maintenance afterwards: a note, and no more (CMP-A7)', async () => {
    const { handle, succeed, asked } = compacting({
      engine: { ...OWNER, methods: ['maintain'] },
      plan: { 'engine.maintain': [answer(undefined), fail('no room')] },
    });
    await asked();
    await succeed();
    expect(await handle.result).toMatchObject({
      ok: true,
      details: { contextEngineMaintenance: { ok: false }, codexNativeCompaction: { ok: true } },
      degraded: [{ state: 'compacting', code: 'engine_failed' }],
    });
  });

  it('may have nothing to compact: its reason stands, hooks are paired with a count of 0 (CMP-A8, BL-38)', async () => {
    const { controlled, handle, succeed, asked } = compacting({
      engine: OWNER,
      plan: { 'engine.compact': answer({ ok: true, compacted: false, reason: 'below threshold' }) },
    });
    await asked();
    await succeed();
    const result = await handle.result;
    expect(result).toMatchObject({
      ok: true,
      compacted: false,
      outcome: 'completed',
      reason: 'below threshold',
      tokensBefore: 123,
      tokensAfter: null,
    });
    expect(nativeOf(result)).toMatchObject({ ok: true, compacted: true });
    expect(result.details).not.toHaveProperty('contextEngineMaintenance');
    expect(hooksOf(controlled).slice(0, 2)).toEqual([
      ['before_compaction', 'context-engine', undefined],
      ['after_compaction', 'context-engine', 0],
    ]);
  });

  it.each<[string, Plan[string], string, string]>([
    ['throws', fail('boom'), 'engine_failed', 'context engine "controlled" compact() failed: boom'],
    ['says no', answer({ ok: false, compacted: false, reason: 'not now' }), 'compaction_failed', 'not now'],
  ])('that %s has failed, and native runs all the same (CMP-A9)', async (_, step, code, why) => {
    const { handle, succeed, asked } = compacting({ engine: OWNER, plan: { 'engine.compact': step } });
    await asked();
    await succeed();
    const result = await handle.result;
    expect(result).toMatchObject({
      ok: false,
      compacted: true,
      outcome: 'failed',
      primary: 'engine',
      reason: `context engine compaction failed: ${why}`,
      details: { contextEngineCompaction: { ok: false, compacted: false, reason: why } },
      error: { code },
    });
    expect(nativeOf(result)).toMatchObject({ ok: true, compacted: true });
  });

  it('that hangs, deaf to its signal, has failed when its budget is over, and native runs all the same', async () => {
    const { controlled, handle, succeed, asked } = compacting(
      { engine: OWNER, plan: { 'engine.compact': deaf } },
      { budgets: { compact: 5_000 } },
    );
    await controlled.script.called('engine.compact');
    await quiet();
    controlled.clock.increment(5_000);
    await asked();
    await succeed();
    expect(await handle.result).toMatchObject({
      ok: false,
      compacted: true,
      reason: 'context engine compaction failed: it took longer than 5000 ms (budgets.compact)',
      error: { code: 'budget_compact', message: 'the compact budget of 5000 ms ran out (budgets.compact)' },
    });
    expect(hooksOf(controlled).filter(([name]) => name === 'after_compaction')).toHaveLength(2);
  });

  it('that is aborted has failed, and nothing native is begun', async () => {
    const { controlled, handle } = compacting({ engine: OWNER, plan: { 'engine.compact': hang } });
    await controlled.script.called('engine.compact');
    await quiet();
    handle.abort();
    const result = await handle.result;
    expect(result).toMatchObject({ ok: false, outcome: 'aborted', primary: 'engine' });
    expect(nativeOf(result)).toEqual({
      backend: 'codex-app-server',
      ok: false,
      compacted: false,
      reason: 'not_attempted',
    });
    expect(controlled.script.names()).not.toContain('codex.connect');
  });

  it('that is aborted while hooks are told of its beginning has them told of its end', async () => {
    const { controlled, handle } = compacting({ engine: OWNER, plan: { 'hook.before_compaction': hang } });
    await controlled.script.called('hook.before_compaction');
    handle.abort();
    expect(await handle.result).toMatchObject({ ok: false, outcome: 'aborted' });
    expect(hooksOf(controlled).map(([name]) => name)).toEqual(['before_compaction', 'after_compaction']);
    expect(controlled.script.names()).not.toContain('engine.compact');
  });

  it('that was done, but told its hooks of it for too long, has failed and says so', async () => {
    const { controlled, handle } = compacting(
      { engine: OWNER, binding: null, plan: { 'hook.after_compaction': hang } },
      { budgets: { compact: 5_000, hooks: 60_000 } },
    );
    await controlled.script.called('hook.after_compaction');
    await quiet();
    controlled.clock.increment(5_000);
    expect(await handle.result).toMatchObject({
      ok: false,
      compacted: true,
      outcome: 'failed',
      reason: 'context engine compaction failed: the compact budget of 5000 ms ran out (budgets.compact)',
      details: { contextEngineCompaction: { ok: true, compacted: true } },
      error: { code: 'budget_compact' },
    });
  });

  it('needs no native thread (CMP-A10), and no process is asked for', async () => {
    const { controlled, handle } = compacting({ engine: OWNER, binding: null });
    const result = await handle.result;
    expect(result).toMatchObject({ ok: true, compacted: true, primary: 'engine', tokensBefore: null });
    expect(nativeOf(result)).toMatchObject({ ok: false, compacted: false, reason: 'no_thread_binding' });
    expect(controlled.script.names()).not.toContain('codex.connect');
  });

  it.each([
    ['is not there', new AttemptError('codex_not_found', 'no codex'), 'app_server_unavailable'],
    ['has no credentials', new AttemptError('codex_no_credentials', 'log in'), 'unauthenticated'],
  ])('does not fail when Codex %s', async (_, error, reason) => {
    const { handle } = compacting({ engine: OWNER, plan: { 'codex.connect': fail(error) } });
    const result = await handle.result;
    expect(result).toMatchObject({ ok: true, outcome: 'completed', primary: 'engine' });
    expect(nativeOf(result)).toMatchObject({ ok: false, reason, message: error.message });
  });
});

describe.each([
  ['no engine', null],
  ['an engine that does not own compaction', {}],
])('with %s only the native thread is compacted (K2)', (_, engine) => {
  it('and that is the result (CMP-A1, A2)', async () => {
    const { controlled, handle, succeed, asked } = compacting({ engine });
    await asked();
    expect(controlled.script.of('codex.thread/compact/start')).toEqual([{ threadId: THREAD }]);
    await succeed();
    expect(await handle.result).toMatchObject({
      ok: true,
      compacted: true,
      primary: 'native',
      reason: null,
      tokensBefore: 123,
      details: {
        codexNativeCompaction: { ok: true, compacted: true, threadId: THREAD, turnId: 'turn-c', itemId: 'compact-1' },
      },
    });
    expect(controlled.script.names()).not.toContain('engine.compact');
    expect(controlled.session.state.binding?.threads[0]).not.toHaveProperty('context');
  });
});

describe('a native compaction', () => {
  it('is done with its item and then its turn, and not before', async () => {
    const { handle, say, asked } = compacting();
    let settled = false;
    void handle.result.then(() => {
      settled = true;
    });
    await asked();
    await say('turn/started', { turn: TURN });
    await say('item/started', { turnId: TURN.id, item: ITEM });
    // 0.154 has this warning; no version sends thread/compacted, and it would be no end.
    await say('warning', { message: 'Heads up: Long threads' });
    await say('thread/compacted', { turnId: TURN.id });
    await say('item/completed', { turnId: TURN.id, item: ITEM });
    await say('thread/status/changed', { status: { type: 'idle' } });
    expect(settled).toBe(false);
    await say('turn/completed', { turn: TURN });
    expect(await handle.result).toMatchObject({ ok: true, compacted: true });
  });

  it('is not ended by what other threads and turns say (C5), nor by what was said before it was asked for (C6)', async () => {
    const { controlled, handle, say, succeed, asked } = compacting({ hooks: [], plan: {} });
    await controlled.script.called('codex.thread/resume');
    await say('turn/started', { turn: { ...TURN, id: 'earlier' } });
    await say('turn/completed', { turn: { ...TURN, id: 'earlier' } });
    await asked();
    const other = 'thread-other';
    await say('turn/started', { turn: { ...TURN, id: 'theirs' } }, other);
    await say('item/completed', { turnId: 'theirs', item: ITEM }, other);
    await say('turn/completed', { turn: { ...TURN, id: 'theirs' } }, other);
    await say('turn/completed', { turn: { ...TURN, id: 'theirs' } });
    await succeed();
    expect(nativeOf(await handle.result)).toMatchObject({ ok: true, turnId: 'turn-c' });
  });

  it('takes the estimate that Codex gives as its size afterwards, and zeros for nothing (C2, B11, BL-36)', async () => {
    const usage = (last: object) => ({ turnId: TURN.id, tokenUsage: { total: {}, last, modelContextWindow: 1_000 } });
    const zero = { totalTokens: 0, inputTokens: 0, outputTokens: 0 };
    const { handle, say, succeed, asked } = compacting();
    await asked();
    await say('turn/started', { turn: TURN });
    await say('thread/tokenUsage/updated', usage({ totalTokens: 900, inputTokens: 800, outputTokens: 100 }));
    await say('thread/tokenUsage/updated', usage({ ...zero, totalTokens: 77 }));
    await say('thread/tokenUsage/updated', usage(zero));
    await succeed();
    expect(await handle.result).toMatchObject({ tokensBefore: 123, tokensAfter: 77 });
  });

  it.each<[string, (one: Compacting) => Promise<void>, string, string]>([
    [
      'that ends without its item (C3)',
      async ({ say }) => {
        await say('turn/started', { turn: TURN });
        await say('turn/completed', { turn: TURN });
      },
      'no_compaction',
      'compaction_failed',
    ],
    [
      'that ends before its item (C3)',
      async ({ say }) => {
        await say('turn/started', { turn: TURN });
        await say('item/started', { turnId: TURN.id, item: ITEM });
        await say('turn/completed', { turn: TURN });
      },
      'no_compaction',
      'compaction_failed',
    ],
    [
      'that fails (C4)',
      async ({ say }) => {
        const error = { message: 'no credit', codexErrorInfo: 'usageLimitExceeded' };
        await say('turn/started', { turn: TURN });
        await say('turn/completed', { turn: { ...TURN, status: 'failed', error } });
      },
      'model_failed',
      'usage_limit_exceeded',
    ],
    [
      'that somebody else interrupts',
      async ({ say }) => {
        await say('turn/started', { turn: TURN });
        await say('turn/completed', { turn: { ...TURN, status: 'interrupted' } });
      },
      'interrupted_elsewhere',
      'interrupted_elsewhere',
    ],
    [
      'whose process ends (C9)',
      async ({ controlled }) => {
        controlled.codex.clients.at(-1)?.end(1);
      },
      'app_server_exited',
      'app_server_exited',
    ],
  ])('%s has failed, and the thread keeps what it was given', async (_, happens, reason, code) => {
    const one = compacting();
    await one.asked();
    await happens(one);
    const result = await one.handle.result;
    expect(result).toMatchObject({ ok: false, compacted: false, outcome: 'failed', reason, error: { code } });
    expect(nativeOf(result)).toMatchObject({ ok: false, reason, message: expect.any(String) });
    expect(one.controlled.script.names()).not.toContain('binding.write');
    expect(hooksOf(one.controlled)).toEqual([
      ['before_compaction', 'codex-app-server', undefined],
      ['after_compaction', 'codex-app-server', 0],
    ]);
  });

  it.each<[string, ControlledSetup, string, string]>([
    ['no thread is bound (B13)', { binding: null }, 'no_thread_binding', 'thread_missing'],
    [
      'the thread is gone (B14)',
      { plan: { 'codex.thread/resume': fail(refusal(`no rollout found for thread id ${THREAD}`)) } },
      'stale_thread_binding',
      'thread_stale',
    ],
    [
      'a turn runs on it',
      { plan: { 'codex.thread/resume': answer({ thread: { id: THREAD, status: { type: 'active' } }, model: 'm' }) } },
      'thread_busy',
      'thread_busy',
    ],
    [
      'another process writes it',
      { plan: { 'codex.thread/resume': fail(refusal('thread already has an active writer')) } },
      'thread_busy',
      'thread_busy',
    ],
    [
      'nobody is logged in',
      { plan: { 'codex.connect': fail(new AttemptError('codex_no_credentials', 'log in')) } },
      'unauthenticated',
      'codex_no_credentials',
    ],
    [
      'the request is refused (C10)',
      { plan: { 'codex.thread/compact/start': fail(refusal('not now')) } },
      'refused',
      'compaction_failed',
    ],
  ])('is not begun when %s: the reason says so, and the binding stays', async (_, setup, reason, code) => {
    const { controlled, handle } = compacting(setup);
    const before = controlled.session.state.binding;
    const result = await handle.result;
    expect(result).toMatchObject({ ok: false, compacted: false, outcome: 'failed', reason, error: { code } });
    expect(nativeOf(result)).toMatchObject({ ok: false, reason });
    expect(controlled.session.state.binding).toEqual(before);
    expect(controlled.script.names()).not.toContain('codex.retire');
    const told = hooksOf(controlled).map(([name]) => name);
    expect(told).toEqual(told.length === 0 ? [] : ['before_compaction', 'after_compaction']);
  });

  it('whose request is not answered has its process retired: it may run all the same (C10)', async () => {
    const { controlled, handle } = compacting({ plan: { 'codex.thread/compact/start': deaf } });
    await controlled.script.called('codex.thread/compact/start');
    await quiet();
    controlled.clock.increment(30_000);
    expect(await handle.result).toMatchObject({ ok: false, reason: 'timed_out', error: { code: 'request_timeout' } });
    expect(controlled.script.names()).toContain('codex.retire');
  });

  it('that is aborted is interrupted once its turn has begun, by the id of that turn (C7)', async () => {
    const { controlled, handle, say, asked } = compacting({ plan: { 'codex.turn/interrupt': answer({}) } });
    await asked();
    handle.abort();
    await quiet();
    expect(controlled.script.names()).not.toContain('codex.turn/interrupt');
    await say('turn/started', { turn: TURN });
    handle.abort();
    expect(controlled.script.of('codex.turn/interrupt')).toEqual([{ threadId: THREAD, turnId: TURN.id }]);
    await say('turn/completed', { turn: { ...TURN, status: 'interrupted' } });
    const result = await handle.result;
    expect(result).toMatchObject({ ok: false, outcome: 'aborted', reason: 'aborted' });
    expect(controlled.script.names()).not.toContain('codex.retire');
    expect(hooksOf(controlled).at(-1)).toEqual(['after_compaction', 'codex-app-server', 0]);
  });

  it('that was done before the interrupt is done (C8)', async () => {
    const refused = fail(refusal('no active turn to interrupt'));
    const { handle, say, asked } = compacting({ plan: { 'codex.turn/interrupt': refused } });
    await asked();
    await say('turn/started', { turn: TURN });
    await say('item/completed', { turnId: TURN.id, item: ITEM });
    handle.abort();
    await quiet();
    await say('turn/completed', { turn: TURN });
    expect(await handle.result).toMatchObject({ ok: true, compacted: true, outcome: 'completed' });
  });

  it('that does not end after its interrupt has its process retired after a grace (C7)', async () => {
    const { controlled, handle, say, asked } = compacting({ plan: { 'codex.turn/interrupt': answer({}) } });
    await asked();
    await say('turn/started', { turn: TURN });
    handle.abort();
    await quiet();
    controlled.clock.increment(2_000);
    expect(await handle.result).toMatchObject({ ok: false, outcome: 'aborted', reason: 'aborted' });
    expect(controlled.script.names().filter((name) => name === 'codex.retire')).toHaveLength(1);
  });

  it('that takes too long is interrupted; the error names the budget', async () => {
    const { controlled, handle, say, asked } = compacting(
      { plan: { 'codex.turn/interrupt': answer({}) } },
      { budgets: { compact: 7_000 } },
    );
    await asked();
    await say('turn/started', { turn: TURN });
    controlled.clock.increment(7_000);
    await quiet();
    await say('turn/completed', { turn: { ...TURN, status: 'interrupted' } });
    expect(await handle.result).toMatchObject({
      ok: false,
      outcome: 'failed',
      reason: 'timed_out',
      error: { code: 'budget_compact', message: 'the compact budget of 7000 ms ran out (budgets.compact)' },
    });
  });

  it('that was done, but told its hooks of it for too long, has failed and says so', async () => {
    const budgets = { compact: 5_000, graceInterrupt: 2_000, hooks: 60_000 };
    const { controlled, handle, asked, succeed } = compacting({ plan: { 'hook.after_compaction': hang } }, { budgets });
    await asked();
    await succeed();
    controlled.clock.increment(5_000);
    await quiet();
    controlled.clock.increment(2_000);
    expect(await handle.result).toMatchObject({
      ok: false,
      compacted: true,
      primary: 'native',
      reason: 'timed_out',
      outcome: 'failed',
      details: { codexNativeCompaction: { ok: true, compacted: true } },
    });
  });

  it('goes to the process that holds the thread (BL-35)', async () => {
    const { controlled, handle, succeed, asked } = compacting();
    await asked();
    await succeed();
    await handle.result;
    expect(controlled.codex.clients).toHaveLength(1);
  });
});

it('a second compaction of a session under way is refused at once (C11), and the first is not disturbed', async () => {
  const busy = new AttemptError('session_busy', 'in use');
  const first = compacting();
  await first.asked();
  const second = compacting({ plan: { 'transcript.open': fail(busy) } });
  expect(await second.handle.result).toMatchObject({
    ok: false,
    outcome: 'failed',
    error: { code: 'session_busy', message: 'in use' },
  });
  expect(second.controlled.script.names()).not.toContain('codex.connect');
  await first.succeed();
  expect(await first.handle.result).toMatchObject({ ok: true });
});

it('tells what happens, and the result last', async () => {
  const { handle, succeed, asked } = compacting();
  const told: string[] = [];
  handle.onEvent(({ type }) => told.push(type));
  await asked();
  await succeed();
  await handle.result;
  expect(told.at(0)).toBe('attempt.state');
  expect(told.at(-1)).toBe('compaction.settled');
  expect(told.filter((type) => type === 'compaction.settled')).toHaveLength(1);
  expect(told).not.toContain('attempt.settled');
});
