import { describe, expect, it } from 'vitest';
import type { AttemptResult } from '../../src/attempt/types.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, deaf, fail, hang, type Plan, pass, type Step } from '../../src/testing/controlled/script.ts';
import {
  type Controlled,
  type ControlledSetup,
  controlledServices,
  PROMPT,
} from '../../src/testing/controlled/services.ts';
import { bindingOf, SESSION_ID } from '../../src/testing/controlled/session.ts';
import { ANSWER } from '../../src/testing/controlled/turn.ts';

/** Whatever fails or hangs around a turn: what is written down of it, and that the user's turn is not lost (spec E1). */

const HISTORY = [userRow('before'), assistantRow('then')];
const SECRET = 'sk-abcdefgh12345678';

const ran = { ran: true, mode: 'foreground' };
const afterTurn = { method: 'afterTurn', ok: true };

interface Case {
  plan: Plan;
  setup?: ControlledSetup;
  /** Milliseconds that pass, one after the other, once the named state was entered. */
  wait?: readonly [string, ...number[]];
  expected: Partial<AttemptResult>;
}

const step = (state: string, code: string) => ({ state, code, message: expect.any(String) });

async function resultOf({ plan, setup = {}, wait }: Case): Promise<[Controlled, AttemptResult]> {
  const controlled = controlledServices({ history: HISTORY, ...setup, plan });
  const run = controlled.start();
  if (wait !== undefined) {
    const [state, ...waits] = wait;
    await run.entered(state);
    for (const ms of waits) await controlled.clock.advance(ms);
  }
  return [controlled, await run.result];
}

const completed = (degraded: object[], more: Partial<AttemptResult> = {}): Case['expected'] =>
  ({
    outcome: 'completed',
    text: ANSWER,
    finalization: afterTurn,
    maintenance: ran,
    degraded,
    ...more,
  }) as Case['expected'];

const failed = (code: string): Case['expected'] =>
  ({ outcome: 'failed', degraded: [], error: { code, message: expect.any(String) } }) as Case['expected'];

const NOT_FINALIZED = { maintenance: { ran: false, reason: 'not-finalized' } } as const;

describe('a failure of the store', () => {
  it.each<[string, Case]>([
    ['opening the session', { plan: { 'transcript.open': fail('gone') }, expected: failed('session_unreadable') }],
    ['reading the binding', { plan: { 'binding.read': fail('gone') }, expected: failed('session_unreadable') }],
    ['reading the journal', { plan: { 'journal.read': fail('gone') }, expected: failed('session_unreadable') }],
    ['reading the session', { plan: { 'transcript.read': fail('gone') }, expected: failed('session_unreadable') }],
    [
      'reading the session again',
      {
        plan: { 'transcript.read': [pass, fail('gone'), pass] },
        expected: completed([step('bootstrap.rereading', 'session_unreadable')]),
      },
    ],
    [
      'writing the journal before the request',
      {
        plan: { 'journal.write': [fail('full'), pass] },
        expected: completed([step('turning', 'session_write_failed')]),
      },
    ],
    [
      'writing the journal once the turn runs',
      {
        plan: { 'journal.write': [pass, fail('full')] },
        expected: completed([step('turning', 'session_write_failed')]),
      },
    ],
    [
      'writing the binding',
      { plan: { 'binding.write': fail('full') }, expected: completed([step('turning', 'session_write_failed')]) },
    ],
    [
      'writing what the thread has seen',
      {
        plan: { 'binding.write': [pass, fail('full')] },
        expected: completed([step('mirroring', 'session_write_failed')]),
      },
    ],
    [
      'writing the prompt row',
      {
        plan: { 'transcript.append': [fail('full'), pass] },
        expected: completed([step('turning', 'session_write_failed')]),
      },
    ],
    [
      'writing the mirror',
      {
        plan: { 'transcript.append': [pass, fail('full')] },
        expected: completed([step('mirroring', 'mirror_failed')]),
      },
    ],
    [
      'reading the mirror',
      {
        plan: { 'transcript.read': [pass, pass, fail('gone')] },
        expected: completed([step('mirroring', 'mirror_failed')]),
      },
    ],
    [
      'closing the journal',
      { plan: { 'journal.clear': fail('full') }, expected: completed([step('finalizing', 'session_write_failed')]) },
    ],
    ['giving the session back', { plan: { 'transcript.close': fail('gone') }, expected: completed([]) }],
  ])('while %s', async (_name, given) => {
    const [, result] = await resultOf(given);
    expect(result).toMatchObject(given.expected);
    expect(result.degraded).toHaveLength(given.expected.degraded?.length ?? 0);
  });

  it('the prompt row that could not be written at the start is written by the mirror', async () => {
    const [controlled] = await resultOf({ plan: { 'transcript.append': [fail('full'), pass] }, expected: {} });
    expect(controlled.session.messages().map((row) => row.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  it('a thread that could not be bound is not resumed', async () => {
    const [controlled] = await resultOf({ plan: { 'binding.write': fail('full') }, expected: {} });
    controlled.script.plan('binding.write', pass);
    await controlled.run();
    expect(controlled.script.of('codex.thread/start')).toHaveLength(2);
  });
});

describe('a store that hangs', () => {
  it.each<[string, Case]>([
    [
      'opening the session',
      { plan: { 'transcript.open': hang }, wait: ['bootstrap.opening', 30_000], expected: failed('budget_store') },
    ],
    [
      'reading the session',
      { plan: { 'transcript.read': hang }, wait: ['bootstrap.reading', 30_000], expected: failed('budget_store') },
    ],
    [
      'reading the session again',
      {
        plan: { 'transcript.read': [pass, hang, pass] },
        wait: ['bootstrap.rereading', 30_000],
        expected: completed([step('bootstrap.rereading', 'budget_store')]),
      },
    ],
    [
      'writing the journal before the request',
      {
        plan: { 'journal.write': [hang, pass] },
        wait: ['turning', 15_000],
        expected: completed([step('turning', 'session_write_failed')]),
      },
    ],
    [
      'writing the binding',
      {
        plan: { 'binding.write': [hang] },
        wait: ['turning', 5_000, 4_000],
        expected: completed([step('completed', 'internal')]),
      },
    ],
    [
      'writing the mirror',
      {
        plan: { 'transcript.append': [pass, hang] },
        wait: ['mirroring', 30_000],
        expected: completed([step('mirroring', 'budget_mirror')]),
      },
    ],
    [
      'writing the mirror, without hearing a signal',
      {
        plan: { 'transcript.append': [pass, deaf] },
        wait: ['mirroring', 30_000],
        expected: completed([step('mirroring', 'budget_mirror')]),
      },
    ],
    [
      'closing the journal',
      {
        plan: { 'journal.clear': hang },
        wait: ['finalizing', 4_000],
        expected: completed([step('completed', 'internal')]),
      },
    ],
    [
      'giving the session back',
      { plan: { 'transcript.close': hang }, wait: ['completed', 2_000], expected: completed([]) },
    ],
  ])('while %s', async (_name, given) => {
    const [, result] = await resultOf(given);
    expect(result).toMatchObject(given.expected);
    expect(result.degraded).toHaveLength(given.expected.degraded?.length ?? 0);
  });
});

describe('an engine', () => {
  const garbage = answer({ estimatedTokens: 0 });
  it.each<[string, Case]>([
    [
      'that fails in bootstrap',
      { plan: { 'engine.bootstrap': fail('no') }, expected: completed([step('bootstrap.engine', 'engine_failed')]) },
    ],
    [
      'that hangs in bootstrap',
      {
        plan: { 'engine.bootstrap': hang },
        wait: ['bootstrap.engine', 60_000],
        expected: completed([step('bootstrap.engine', 'budget_bootstrap')]),
      },
    ],
    [
      'that fails in bootstrap maintenance',
      {
        plan: { 'engine.maintain': [fail('no'), pass] },
        expected: completed([step('bootstrap.maintenance', 'engine_failed')]),
      },
    ],
    [
      'that hangs in bootstrap maintenance',
      {
        plan: { 'engine.maintain': [hang, pass] },
        wait: ['bootstrap.maintenance', 120_000],
        expected: completed([step('bootstrap.maintenance', 'budget_maintain')]),
      },
    ],
    [
      'that fails in assemble',
      { plan: { 'engine.assemble': fail('no') }, expected: completed([step('assembling', 'engine_failed')]) },
    ],
    [
      'that hangs in assemble',
      {
        plan: { 'engine.assemble': hang },
        wait: ['assembling', 60_000],
        expected: completed([step('assembling', 'budget_assemble')]),
      },
    ],
    [
      'that answers garbage in assemble',
      { plan: { 'engine.assemble': garbage }, expected: completed([step('assembling', 'engine_bad_result')]) },
    ],
    [
      'that fails in afterTurn',
      {
        plan: { 'engine.afterTurn': fail('no') },
        expected: completed([step('finalizing', 'engine_failed')], {
          finalization: { method: 'afterTurn', ok: false, reason: 'engine_failed' },
          ...NOT_FINALIZED,
        }),
      },
    ],
    [
      'that hangs in afterTurn',
      {
        plan: { 'engine.afterTurn': hang },
        wait: ['finalizing', 60_000],
        expected: completed([step('finalizing', 'budget_finalize')], {
          finalization: { method: 'afterTurn', ok: false, reason: 'budget_finalize' },
          ...NOT_FINALIZED,
        }),
      },
    ],
    [
      'that fails in one of its ingests',
      {
        plan: { 'engine.ingest': [fail('no'), pass] },
        setup: { engine: { methods: ['bootstrap', 'maintain'] } },
        expected: completed([step('finalizing', 'engine_failed')], {
          finalization: { method: 'ingest', ok: false, reason: 'engine_failed' },
          ...NOT_FINALIZED,
        }),
      },
    ],
    [
      'that fails in turn maintenance',
      {
        plan: { 'engine.maintain': [pass, fail('no')] },
        expected: completed([step('maintaining', 'engine_failed')], { maintenance: { ran: false, reason: 'error' } }),
      },
    ],
    [
      'that hangs in turn maintenance',
      {
        plan: { 'engine.maintain': [pass, hang] },
        wait: ['maintaining', 120_000],
        expected: completed([step('maintaining', 'budget_maintain')], {
          maintenance: { ran: false, reason: 'budget' },
        }),
      },
    ],
    [
      'that is durable and fails in commitTurn',
      {
        plan: { 'engine.commitTurn': fail('no') },
        setup: { engine: { info: DURABLE_INFO, methods: DURABLE_METHODS } },
        expected: completed([step('finalizing', 'engine_failed')], {
          finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'engine_failed' },
          ...NOT_FINALIZED,
        }),
      },
    ],
  ])('%s', async (_name, given) => {
    const [, result] = await resultOf(given);
    expect(result).toMatchObject(given.expected);
    expect(result.degraded).toHaveLength(given.expected.degraded?.length ?? 0);
  });

  it.each<[string, Step, number]>([
    ['fails', fail('no'), 0],
    ['hangs', hang, 60_000],
    ['answers garbage', garbage, 0],
  ])('that %s in assemble: prompt, instructions and thread as without an engine', async (_name, does, ms) => {
    const bound = bindingOf({ engine: null, seenEntryId: 'entry-1' });
    const [controlled] = await resultOf({
      plan: { 'engine.assemble': does },
      setup: { binding: bound },
      ...(ms === 0 ? {} : { wait: ['assembling', ms] as const }),
      expected: {},
    });
    const plain = controlledServices({ history: HISTORY, binding: bound, engine: null });
    await plain.run();
    for (const method of ['codex.thread/resume', 'codex.turn/start']) {
      expect(controlled.script.of(method)).toEqual(plain.script.of(method));
    }
    expect(controlled.script.of('codex.turn/start')).toMatchObject([{ input: [{ type: 'text', text: PROMPT }] }]);
  });
});

describe('hooks', () => {
  it.each<[string, string, Step, Case['wait'] | undefined, object]>([
    [
      'before_prompt_build fails',
      'before_prompt_build',
      fail(`no: ${SECRET}`),
      undefined,
      step('hook-build', 'hook_failed'),
    ],
    [
      'before_prompt_build hangs',
      'before_prompt_build',
      hang,
      ['hook-build', 15_000],
      step('hook-build', 'budget_hooks'),
    ],
    [
      'before_prompt_build answers garbage',
      'before_prompt_build',
      answer(7),
      undefined,
      step('hook-build', 'hook_failed'),
    ],
    ['llm_input fails', 'llm_input', fail(`no: ${SECRET}`), undefined, step('thread-start', 'hook_failed')],
    ['llm_input hangs', 'llm_input', hang, ['thread-start', 15_000], step('thread-start', 'budget_hooks')],
    ['llm_output fails', 'llm_output', fail(`no: ${SECRET}`), undefined, step('mirroring', 'hook_failed')],
    ['llm_output hangs', 'llm_output', hang, ['mirroring', 15_000], step('mirroring', 'budget_hooks')],
    ['agent_end fails', 'agent_end', fail(`no: ${SECRET}`), undefined, step('mirroring', 'hook_failed')],
    ['agent_end hangs', 'agent_end', hang, ['mirroring', 15_000], step('mirroring', 'budget_hooks')],
  ])('%s', async (_name, hook, does, wait, expected) => {
    const [controlled, result] = await resultOf({
      plan: { [`hook.${hook}`]: does },
      ...(wait === undefined ? {} : { wait }),
      expected: {},
    });
    expect(result).toMatchObject(completed([expected]));
    expect(JSON.stringify([result, controlled.log, controlled.trace])).not.toContain(SECRET);
    expect(controlled.script.of('codex.turn/start')).toHaveLength(1);
  });

  it('a hook port that breaks as a whole costs nothing but its own part, and no secret', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const broken = async () => {
      throw new Error(`the hooks broke: ${SECRET}`);
    };
    const hooks = { has: () => true, beforePromptBuild: broken, beforeMessageWrite: broken, notify: broken };
    const run = controlled.start({}, { hooks });
    const result = await run.result;
    expect(result).toMatchObject(
      completed([
        step('hook-build', 'hook_failed'),
        step('thread-start', 'hook_failed'),
        // The prompt row, then the answer's.
        step('turning', 'hook_failed'),
        step('mirroring', 'hook_failed'),
        step('mirroring', 'hook_failed'),
        step('mirroring', 'hook_failed'),
      ]),
    );
    expect(JSON.stringify([run.events, controlled.log, controlled.trace])).not.toContain(SECRET);
  });
});

describe('after a failed mirror (spec M1, M2)', () => {
  it.each<[string, Plan, readonly string[]]>([
    ['the write failed, a stale file is readable', { 'transcript.append': fail('full') }, []],
    ['the rows are there, the file cannot be reopened', { 'transcript.read': [pass, pass, fail('gone')] }, []],
  ])('%s: the engine gets history and the turn, and the log says so', async (_name, plan) => {
    const [controlled, result] = await resultOf({ plan, expected: {} });
    const [params] = controlled.script.of('engine.afterTurn') as {
      messages: object[];
      prePromptMessageCount: number;
    }[];
    expect(params?.prePromptMessageCount).toBe(2);
    expect(params?.messages).toEqual([
      ...HISTORY,
      expect.objectContaining({ role: 'user', content: [{ type: 'text', text: PROMPT }] }),
      expect.objectContaining({
        role: 'assistant',
        content: [{ type: 'text', text: ANSWER }],
        idempotencyKey: 'codex-app-server:thread-1:turn-1:item-2:assistant',
      }),
    ]);
    expect(controlled.logged('mirror failed: the context engine ingests from fallback turn data')).toEqual([
      {
        level: 'warn',
        message: 'mirror failed: the context engine ingests from fallback turn data',
        fields: expect.objectContaining({ engineId: 'controlled', sessionId: SESSION_ID, threadId: 'thread-1' }),
      },
    ]);
    expect(result.finalization).toEqual(afterTurn);
  });

  it('rows that another writer put into the file meanwhile are not taken for the turn', async () => {
    const controlled = controlledServices({ history: HISTORY, plan: { 'transcript.append': fail('full') } });
    controlled.script.plan('transcript.read', [
      pass,
      pass,
      answer({
        entries: [{ entryId: 'x', parentId: null, position: 0, createdAt: '', message: userRow('stale') }],
        leafId: 'x',
      }),
    ]);
    await controlled.run();
    expect(JSON.stringify(controlled.script.of('engine.afterTurn'))).not.toContain('stale');
  });

  it('a mirror that works is not reported as fallback', async () => {
    const [controlled] = await resultOf({ plan: {}, expected: {} });
    expect(controlled.log.filter((line) => line.message.includes('fallback'))).toEqual([]);
  });
});

it('every degradation is logged, traced and told as an event, once each', async () => {
  const controlled = controlledServices({
    history: HISTORY,
    plan: { 'engine.bootstrap': fail('no'), 'binding.write': [fail('full'), pass], 'hook.llm_output': fail('no') },
  });
  const run = controlled.start();
  const { degraded } = await run.result;
  const where = degraded.map(({ state, code }) => ({ state, code })).sort((a, b) => (a.state < b.state ? -1 : 1));
  const sorted = (list: { state: unknown; code: unknown }[]) =>
    list.map(({ state, code }) => ({ state, code })).sort((a, b) => (String(a.state) < String(b.state) ? -1 : 1));
  expect(where).toEqual([
    { state: 'bootstrap.engine', code: 'engine_failed' },
    { state: 'mirroring', code: 'hook_failed' },
    { state: 'turning', code: 'session_write_failed' },
  ]);
  expect(sorted(run.events.flatMap((event) => (event.type === 'attempt.degraded' ? [event] : [])))).toEqual(where);
  expect(
    sorted(
      controlled.trace.flatMap((event) =>
        event.type === 'degraded' ? [{ state: event['state'], code: event['code'] }] : [],
      ),
    ),
  ).toEqual(where);
  expect(
    sorted(
      controlled
        .logged('attempt step degraded')
        .map(({ fields }) => ({ state: fields['state'], code: fields['code'] })),
    ),
  ).toEqual(where);
});
