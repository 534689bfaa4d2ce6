/**
 * Public reports against harnesses of this kind, each turned into a test of its kind. The ids are those of the list of
 * faults; where a kind is covered whole by another test, this table names it.
 *
 * | fault | where |
 * |---|---|
 * | BL-01, 02, 03, 05, 06, 07, 47 | here |
 * | BL-04 an abort before the turn is ignored | states/attempt-abort |
 * | BL-08 the end says only that it failed | states/attempt-order, `agent_end` |
 * | BL-09, 10, 11, 12, 13, 15, 16, 17, 18, 48 | faults/prompt |
 * | BL-19, 20, 21, 22, 23, 24, 25 | faults/threads |
 * | BL-28, 31, 32, 33 | faults/mirror |
 * | BL-29 a row on an old leaf | states/transcript-branch |
 * | BL-30 redaction of keys | states/redact, and faults/mirror |
 * | BL-40, 41 | faults/time |
 * | BL-44 one timeout, another run | states/attempt-protocol |
 */
import { describe, expect, it } from 'vitest';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, fail, hang, pass } from '../../src/testing/controlled/script.ts';
import { controlledServices, PROMPT } from '../../src/testing/controlled/services.ts';

const HISTORY = [userRow('one message')];

it('BL-01: an engine that is configured is called at every point of the turn, in order', async () => {
  const controlled = controlledServices({ history: HISTORY });
  await controlled.run();
  const calls = controlled.script.calls.flatMap(({ name, params }) => {
    if (!name.startsWith('engine.')) return [];
    const { reason } = params as { reason?: string };
    return [reason === undefined ? name : `${name}:${reason}`];
  });
  expect(calls).toEqual([
    'engine.bootstrap',
    'engine.maintain:bootstrap',
    'engine.assemble',
    'engine.afterTurn',
    'engine.maintain:turn',
  ]);
});

describe('BL-02: every finished turn is written to the engine exactly once', () => {
  it.each([
    ['afterTurn', ['afterTurn', 'ingestBatch']],
    ['ingestBatch', ['ingestBatch']],
  ] as const)('seven turns, seven calls of %s and of nothing else', async (method, methods) => {
    const controlled = controlledServices({ history: HISTORY, engine: { methods } });
    for (let turn = 1; turn <= 7; turn += 1) {
      const result = await controlled.run({ attemptId: `attempt-${turn}` });
      expect(result.finalization).toEqual({ method, ok: true });
    }
    const writes = controlled.script.names().filter((name) => /^engine\.(?:afterTurn|ingest|commit)/.test(name));
    expect(writes).toEqual(Array.from({ length: 7 }, () => `engine.${method}`));
  });

  it('a wrapper that strips the batch method does not lose the turn: its rows go one by one', async () => {
    const controlled = controlledServices({ history: HISTORY, engine: { methods: [] } });
    expect((await controlled.run()).finalization).toEqual({ method: 'ingest', ok: true });
    expect(controlled.script.of('engine.ingest')).toHaveLength(2);
  });
});

describe('BL-03: an answer of assemble that is no answer is refused at the border', () => {
  it.each([
    ['an object without messages', { estimatedTokens: 0 }],
    ['null', null],
    ['undefined', undefined],
    ['a number', 7],
    ['a list', []],
    ['messages that are null', { messages: null }],
    ['messages that are a text', { messages: 'all of it' }],
  ])('%s: the raw prompt, one warning that names the engine', async (_name, value) => {
    const controlled = controlledServices({ history: [], plan: { 'engine.assemble': answer(value) } });
    const result = await controlled.run();
    expect(result).toMatchObject({
      outcome: 'completed',
      degraded: [{ state: 'assembling', code: 'engine_bad_result' }],
    });
    expect(controlled.script.of('codex.turn/start')).toMatchObject([{ input: [{ text: PROMPT }] }]);
    const warnings = controlled.log.filter((line) => line.level === 'warn' && line.message.includes('assemble'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toContain('"controlled"');
  });
});

it.each([
  ['engine.afterTurn', 'finalizing', 'finalize'],
  ['engine.maintain', 'maintaining', 'maintain'],
] as const)('BL-05: a hung %s is bounded and reported, and the next attempt can start', async (call, state, budget) => {
  const plan = call === 'engine.maintain' ? [pass, hang] : [hang];
  const controlled = controlledServices({ history: HISTORY, plan: { [call]: plan } });
  const run = controlled.start({ budgets: { [budget]: 50 } });
  await run.entered(state);
  await controlled.clock.advance(50);
  expect(await run.result).toMatchObject({
    outcome: 'completed',
    degraded: [{ state, code: `budget_${budget}` }],
    finalization: { method: 'afterTurn', ok: state === 'maintaining' },
    maintenance: { ran: false },
  });
  expect(controlled.session.state.open).toBe(false);
  expect(await controlled.run()).toMatchObject({ outcome: 'completed', degraded: [] });
});

it('BL-06: a bootstrap that throws is seen in the result, the log and the trace, and costs nothing else', async () => {
  const controlled = controlledServices({
    history: HISTORY,
    plan: { 'engine.bootstrap': fail(Object.assign(new Error("ENOENT: open 'agent:x:y'"), { code: 'ENOENT' })) },
  });
  const result = await controlled.run();
  const message = `context engine "controlled" bootstrap() failed: ENOENT: open 'agent:x:y'`;
  expect(result).toMatchObject({
    outcome: 'completed',
    degraded: [{ state: 'bootstrap.engine', code: 'engine_failed', message }],
    finalization: { ok: true },
  });
  expect(controlled.logged('codex context engine bootstrap failed')).toHaveLength(1);
  expect(controlled.trace).toContainEqual({
    type: 'degraded',
    state: 'bootstrap.engine',
    code: 'engine_failed',
    reason: message,
  });
});

describe('BL-07: an engine can tell a turn that did not end well from one that did', () => {
  it.each([
    ['aborted', 'aborted', undefined],
    ['failed', 'error', 'broken'],
  ] as const)('a tool was at work when the turn was %s', async (outcome, stopReason, errorMessage) => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: {
        turns: [
          (turn) => {
            turn.started().begin({ type: 'commandExecution', command: 'sleep 60', cwd: '/', status: 'inProgress' });
            if (outcome === 'aborted') run.abort();
            else turn.failed('broken');
          },
        ],
      },
    });
    const run = controlled.start();
    expect((await run.result).outcome).toBe(outcome);
    const [params] = controlled.script.of('engine.afterTurn') as { messages: object[]; runtimeContext: object }[];
    expect(params?.runtimeContext).toMatchObject({ turnOutcome: outcome });
    expect(params?.messages.at(-1)).toMatchObject({
      role: 'assistant',
      stopReason,
      ...(errorMessage === undefined ? {} : { errorMessage }),
    });
    // No call stays without its result.
    expect(params?.messages.filter((row) => (row as { role: string }).role === 'toolResult')).toMatchObject([
      { isError: true },
    ]);
  });
});

describe('BL-47: cached input is counted once', () => {
  it.each([
    [{ input: 100, cached: 80, output: 5 }, { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, total: 105 }, true],
    [{ input: 100, cached: 0, output: 5 }, { input: 100, output: 5, cacheRead: 0, cacheWrite: 0, total: 105 }, false],
    [{ input: 80, cached: 80, output: 5 }, { input: 0, output: 5, cacheRead: 80, cacheWrite: 0, total: 85 }, true],
  ])('%j', async (figures, usage, reported) => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [(turn) => turn.started().message('done').usage(figures).completed()] },
    });
    await controlled.run();
    const [params] = controlled.script.of('engine.afterTurn') as { runtimeContext: Record<string, unknown> }[];
    expect(params?.runtimeContext['lastCallUsage']).toEqual(usage);
    expect(params?.runtimeContext['promptCache']).toEqual(reported ? { lastCallUsage: usage } : undefined);
    const { input, output, cacheRead, cacheWrite, total } = usage;
    expect(controlled.session.messages().at(-1)).toMatchObject({
      usage: { input, output, cacheRead, cacheWrite, totalTokens: total },
    });
  });

  it('without a report there are no zeros', async () => {
    const controlled = controlledServices({
      history: [...HISTORY, assistantRow('x')],
      codex: { turns: [(turn) => turn.started().message('done').completed()] },
    });
    expect((await controlled.run()).usage).toBeNull();
    const [params] = controlled.script.of('engine.afterTurn') as { runtimeContext: object }[];
    for (const field of ['lastCallUsage', 'currentTokenCount', 'promptCache']) {
      expect(params?.runtimeContext).not.toHaveProperty(field);
    }
  });
});
