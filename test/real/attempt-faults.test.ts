// What the outside does to a turn: a killed app-server, a cut stream, a silent model, a second attempt, an overflow.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelRequestBody } from '../../src/rehearsal/request.ts';
import type { RehearsalStep } from '../../src/rehearsal/script.ts';
import { recordingEngine } from '../support/engines.ts';
import { gate } from '../support/gate.ts';
import { conversationOf, textsOf } from '../support/model-requests.ts';
import { type RehearsalBench, rehearsalBench, rehearsedAppServer } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench({ streamMaxRetries: 1 });
});
afterAll(() => bench.close());

const HAPPY = ['bootstrap', 'assembling', 'projecting', 'hook-build', 'thread-start', 'turning'];

describe('an app-server killed in the middle of a turn', () => {
  it('fails the turn, mirrors what was said, and the next attempt goes on with the same thread', async () => {
    const session = await bench.session([{ text: 'half of an answer', stall: 'mid' }, { text: 'second' }]);
    const { engine, of } = recordingEngine({ afterTurn: () => {}, maintain: () => {} });
    const handle = session.start({ prompt: 'one' }, { engine });
    let said = '';
    handle.onEvent((event) => {
      if (event.type !== 'item.delta') return;
      if (said === '') for (const pid of bench.processes()) process.kill(pid, 'SIGKILL');
      said += event.delta;
    });
    const result = await handle.result;
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'app_server_exited' },
      text: said,
      maintenance: { ran: false, reason: 'failed-turn' },
    });
    expect(said).not.toBe('');
    expect(await session.rows()).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: said }], stopReason: 'error' },
    ]);
    expect(of('afterTurn')).toMatchObject([{ runtimeContext: { turnOutcome: 'failed' } }]);
    const next = await session.run({ prompt: 'two' }, { engine: recordingEngine().engine });
    expect(next.result).toMatchObject({ outcome: 'completed', text: 'second', threadId: result.threadId });
  });

  it('between two attempts is not noticed', async () => {
    const session = await bench.session();
    const one = await session.run({ prompt: 'one' });
    const client = await bench.appServer.connect(new AbortController().signal);
    for (const pid of bench.processes()) process.kill(pid, 'SIGKILL');
    await client.exited;
    const two = await session.run({ prompt: 'two' });
    expect(two.result).toMatchObject({ outcome: 'completed', threadId: one.result.threadId });
    expect(textsOf(session.lastBody(), 'user')).toEqual(['one', 'two']);
  });
});

describe('a thread that another process has', () => {
  it('fails the attempt and stays bound; nothing is written', async () => {
    const session = await bench.session();
    const other = rehearsedAppServer(bench.launch);
    try {
      const one = await session.run({ prompt: 'one' }, { appServer: other });
      const before = [await session.rows(), await session.store().bindings.read()];
      const { result } = await session.run({ prompt: 'two' });
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'thread_busy' } });
      expect(result.states.slice(-2)).toEqual(['thread-start', 'failed']);
      expect([await session.rows(), await session.store().bindings.read()]).toEqual(before);
      await other.close();
      const three = await session.run({ prompt: 'three' });
      expect(three.result).toMatchObject({ outcome: 'completed', threadId: one.result.threadId });
    } finally {
      await other.close();
    }
  });
});

describe('a model', () => {
  it('whose stream is cut is asked again; the orphaned text goes nowhere', async () => {
    const session = await bench.session([{ text: 'ORPHANED beginning', drop: true }, { text: 'whole answer' }]);
    const { result, events } = await session.run({ prompt: 'one' });
    expect([result.outcome, result.text]).toEqual(['completed', 'whole answer']);
    expect(session.bodies()).toHaveLength(2);
    expect(events.filter((event) => event.type === 'error')).toMatchObject([{ will_retry: true }]);
    const rows = await session.rows();
    expect(rows.map((row) => [row.role, row.content])).toEqual([
      ['user', [{ type: 'text', text: 'one' }]],
      ['assistant', [{ type: 'text', text: 'whole answer' }]],
    ]);
    await session.run({ prompt: 'two' });
    expect(conversationOf(session.lastBody())).toEqual([
      ['user', 'one'],
      ['assistant', 'whole answer'],
      ['user', 'two'],
    ]);
  });

  it('whose stream is cut for good fails the turn with the cause', async () => {
    const cut = { text: 'beginning', drop: true };
    const session = await bench.session([cut, cut]);
    const { result } = await session.run({ prompt: 'one' });
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'stream_lost' } });
  });

  it('that is silent is bounded by the execution budget, and the thread can be used afterwards', async () => {
    // On a slow machine the budget may run out before the model is asked.
    const answer = (body: ModelRequestBody): RehearsalStep =>
      textsOf(body, 'user').at(-1) === 'one' ? { stall: 'headers' } : { text: 'second' };
    const session = await bench.session([answer, answer]);
    const { engine, of } = recordingEngine({ afterTurn: () => {} });
    const { result } = await session.run({ prompt: 'one', budgets: { execution: 300 } }, { engine });
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'budget_execution' },
      maintenance: { ran: false, reason: 'failed-turn' },
    });
    expect(result.states).toEqual([...HAPPY, 'mirroring', 'finalizing', 'failed']);
    expect(of('afterTurn')).toMatchObject([{ runtimeContext: { turnOutcome: 'failed' } }]);
    const next = await session.run({ prompt: 'two' }, { engine });
    expect(next.result).toMatchObject({ outcome: 'completed', text: 'second', threadId: result.threadId });
  });

  it.each([
    [{ status: 401 }, 'unauthorized'],
    [{ status: 404, code: 'model_not_found' }, 'model_not_found'],
    [{ status: 429, code: 'usage_limit_reached' }, 'usage_limit_exceeded'],
    [{ responseFailed: 'rate_limit_exceeded' }, 'rate_limit_exceeded'],
    [{ responseFailed: 'server_is_overloaded' }, 'server_overloaded'],
    [{ responseFailed: 'cyber_policy' }, 'policy'],
  ])('that answers %j fails the turn as %s; its prompt row stays and the thread lives', async (error, code) => {
    // Twice: what may be asked again is.
    const session = await bench.session([{ error }, { error }]);
    const { result } = await session.run({ prompt: 'one' });
    expect([result.outcome, result.error?.code]).toEqual(['failed', code]);
    expect((await session.rows())[0]).toMatchObject({ role: 'user', content: [{ text: 'one' }] });
    await session.run({ prompt: 'drain' });
    const next = await session.run({ prompt: 'two' });
    expect(next.result).toMatchObject({ outcome: 'completed', threadId: result.threadId });
  });
});

describe('two attempts at once on one session', () => {
  it('the second is refused, and the first is not disturbed', async () => {
    const session = await bench.session([{ text: 'slow answer', stall: 'mid' }]);
    const first = session.start({ prompt: 'one' });
    const running = gate();
    first.onEvent((event) => {
      if (event.type === 'item.delta') running.open();
    });
    await running.opened;
    const second = await session.run({ prompt: 'two' });
    expect(second.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'session_busy' },
      states: ['bootstrap', 'failed'],
    });
    expect(session.bodies()).toHaveLength(1);
    first.abort();
    expect((await first.result).outcome).toBe('aborted');
    expect((await session.run({ prompt: 'three' })).result.outcome).toBe('completed');
  });

  it('on two sessions do not mix', async () => {
    const [a, b] = [await bench.session(), await bench.session()];
    const runs = await Promise.all([a.run({ prompt: 'alpha' }), b.run({ prompt: 'beta' })]);
    expect(runs.map(({ result }) => [result.outcome, result.text])).toEqual([
      ['completed', 'Rehearsal answer to: "alpha". No model was asked.'],
      ['completed', 'Rehearsal answer to: "beta". No model was asked.'],
    ]);
    expect((await a.rows()).map((row) => row.role)).toEqual(['user', 'assistant']);
    expect(JSON.stringify(await b.rows())).not.toContain('alpha');
  });
});

describe('an overflow', () => {
  const overflow = { error: { status: 400, code: 'context_length_exceeded', message: 'too long' } };
  const past = (text: string) => ({ messages: [{ role: 'user' as const, content: text, timestamp: 1 }] });

  it('with an engine that makes room runs the prompt again, once, on a fresh thread', async () => {
    const session = await bench.session([{ text: 'zero' }, overflow, { text: 'fits now' }]);
    let compacted = false;
    const { engine, of, methods } = recordingEngine({
      info: { ownsCompaction: true },
      assemble: () => past(compacted ? 'short' : 'a very long past'),
      compact: () => {
        compacted = true;
        return { ok: true, compacted: true, result: { tokensBefore: 100, tokensAfter: 10 } };
      },
      afterTurn: () => {},
    });
    const zero = await session.run({ prompt: 'zero' }, { engine });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({ outcome: 'completed', text: 'fits now', degraded: [] });
    expect(result.error).toBeUndefined();
    expect(result.states).toEqual([
      ...HAPPY,
      'compacting',
      'assembling',
      'projecting',
      'hook-build',
      'thread-start',
      'turning',
      'mirroring',
      'finalizing',
      'completed',
    ]);
    expect(result.threadId).not.toBe(zero.result.threadId);
    expect(methods()).toEqual(['assemble', 'afterTurn', 'assemble', 'compact', 'assemble', 'afterTurn']);
    expect(of('compact')).toMatchObject([{ force: true, compactionTarget: 'budget', tokenBudget: 128_000 }]);
    const [[, sent = ''] = []] = conversationOf(session.lastBody());
    expect(sent).toContain('[user]\nshort\n');
    expect(sent.endsWith('Current user request:\none')).toBe(true);
    // One prompt row for the one prompt, and no row of the turn that did not fit.
    expect((await session.rows()).map((row) => row.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const next = await session.run({ prompt: 'two' }, { engine });
    expect(next.result).toMatchObject({ outcome: 'completed', threadId: result.threadId });
  });

  it('that comes again after room was made fails: the prompt is not sent a third time', async () => {
    const session = await bench.session([overflow, overflow, { text: 'must not be asked for' }]);
    const { engine, of } = recordingEngine({
      info: { ownsCompaction: true },
      compact: () => ({ ok: true, compacted: true }),
    });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'context_window_exceeded' } });
    expect(of('compact')).toHaveLength(1);
    expect(session.bodies()).toHaveLength(2);
  });

  it('with an engine that found nothing to compact fails with the cause', async () => {
    const session = await bench.session([overflow, { text: 'must not be asked for' }]);
    const { engine } = recordingEngine({
      info: { ownsCompaction: true },
      compact: () => ({ ok: true, compacted: false, reason: 'nothing to compact' }),
      afterTurn: () => {},
    });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'context_window_exceeded' },
      finalization: { method: 'afterTurn', ok: true },
    });
    expect(result.states).toEqual([...HAPPY, 'compacting', 'mirroring', 'finalizing', 'failed']);
    expect(session.bodies()).toHaveLength(1);
  });

  it.each([
    ['without an engine', null],
    ['with an engine that does not own compaction', recordingEngine().engine],
  ])('%s fails with the cause, and nothing is compacted', async (_, engine) => {
    const session = await bench.session([overflow]);
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'context_window_exceeded' } });
    expect(result.states).toEqual([...HAPPY, 'mirroring', 'finalizing', 'failed']);
  });
});
