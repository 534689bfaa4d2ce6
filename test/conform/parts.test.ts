import { describe, expect, it } from 'vitest';
import { checkCall, pairFault } from '../../src/conform/checks.ts';
import { canonical, difference, excerpt } from '../../src/conform/data.ts';
import { isolatedEnvironment } from '../../src/conform/environment.ts';
import { enginePaths, stepText } from '../../src/conform/paths.ts';
import type { RecordedCall } from '../../src/conform/recorder.ts';
import { clauseReports, mergeStates, reportText } from '../../src/conform/report.ts';
import { ToolSet } from '../../src/conform/tool-set.ts';
import { type ClauseState, Verdicts } from '../../src/conform/verdicts.ts';
import { copyOf } from '../../src/engine/copy-of.ts';
import { userRow } from '../../src/testing/controlled/messages.ts';

describe('data', () => {
  it('is compared whatever the order of its keys, and the first difference is named', () => {
    const one = { b: [1, { x: 'y' }], a: new Set(['p', 'q']) };
    const other = { a: new Set(['q', 'p']), b: [1, { x: 'y' }] };
    expect(canonical(one)).toBe(canonical(other));
    expect(difference(one, other)).toBeNull();
    expect(difference(one, { ...other, b: [1, { x: 'z' }] })).toEqual({ at: 'b[1].x', before: '"y"', after: '"z"' });
    expect(difference([1, 2], [1])).toEqual({ at: '[1]', before: '2', after: 'nothing' });
    expect(difference('a', 'b')).toEqual({ at: 'the whole', before: '"a"', after: '"b"' });
  });

  it('may hold anything', () => {
    const cycle: Record<string, unknown> = { f: () => 1, n: Number.NaN, big: 1n, signal: new AbortController().signal };
    cycle['self'] = cycle;
    expect(canonical(cycle)).toBe(
      '{"big":"(bigint)","f":"(function)","n":"(NaN)","self":"(a cycle)","signal":"(AbortSignal)"}',
    );
    const copy = copyOf(cycle) as Record<string, unknown>;
    expect(copy['self']).toBe(copy);
    expect(copy['f']).toBe(cycle['f']);
    const tricky = JSON.parse('{"__proto__": {"a": 1}}') as unknown;
    expect(Object.keys(copyOf(tricky) as object)).toEqual(['__proto__']);
  });

  it('is shown short, and what cannot be seen as its code', () => {
    expect(excerpt('a\u2028b\u200d\ufeff')).toBe('"a\\u2028b\\u200d\\ufeff"');
    expect(excerpt('x'.repeat(500))).toBe(`"${'x'.repeat(119)}…`);
    expect(excerpt(undefined)).toBe('nothing');
  });
});

describe('tools', () => {
  it('are a set that notices an array being made of it', () => {
    const tools = new ToolSet(['a', 'b']);
    expect([tools instanceof Set, tools.size, tools.has('a'), [...tools]]).toEqual([true, 2, true, ['a', 'b']]);
    expect(tools.takenForArray).toBe(false);
    expect(Reflect.get(tools, 'length')).toBeUndefined();
    expect(tools.takenForArray).toBe(true);
  });
});

describe('tool calls and results', () => {
  const call = (id: string) => ({ role: 'assistant', content: [{ type: 'toolCall', id }] });
  const result = (toolCallId: string) => ({ role: 'toolResult', toolCallId, content: [] });

  it.each([
    ['a pair', [call('a'), result('a')], [], null],
    ['two calls, then their results', [call('a'), call('b'), result('b'), result('a')], [], null],
    ['a call that never got a result', [call('a')], [call('a')], null],
    ['a result without a call', [result('a')], [], 'messages[0] is the result of "a", whose call is not before it'],
    [
      'a result before its call',
      [result('a'), call('a')],
      [],
      'messages[0] is the result of "a", whose call is not before it',
    ],
    [
      'a result twice',
      [call('a'), result('a'), result('a')],
      [],
      'messages[2] is the result of "a", whose call is not before it',
    ],
    [
      'a call whose result was left out',
      [call('a')],
      [call('a'), result('a')],
      'the call "a" is there, its result is not',
    ],
  ])('%s', (_name, assembled, history, fault) => {
    expect(pairFault(assembled, history)).toBe(fault);
  });
});

describe('one call', () => {
  const CALL: RecordedCall = {
    method: 'assemble',
    params: { messages: [userRow('a')] },
    end: 'answered',
    answer: { messages: [] },
    error: null,
    changed: null,
    stallMs: 0,
    toolsTakenForArray: false,
    endedAt: 0,
    again: null,
  };

  function brokenBy(call: Partial<RecordedCall>, refusable = false): Record<string, string> {
    const verdicts = new Verdicts();
    checkCall({ ...CALL, ...call }, verdicts, { path: ['here'], engineId: 'e', refusable });
    return Object.fromEntries(
      verdicts.entries().flatMap(([id, { broken }]) => (broken === null ? [] : [[id, broken.found]])),
    );
  }

  it.each<[string, Partial<RecordedCall>, Record<string, string>]>([
    ['a good one', {}, {}],
    ['a throw', { end: 'threw', error: 'no' }, { answers: 'assemble() threw: no' }],
    ['a hang', { end: 'hung', error: 'no answer in 1 s' }, { hangs: 'no answer in 1 s' }],
    ['one that was given up', { end: 'given-up', error: 'aborted' }, {}],
    ['one that was not made', { end: 'refused' }, {}],
    ['a long standstill', { stallMs: 1001 }, { 'event-loop': 'assemble() blocked it for 1001 ms' }],
    ['a short standstill', { stallMs: 1000 }, {}],
    [
      'no list',
      { answer: { messages: 'all' } },
      { shapes: expect.stringContaining('expected "messages" to be an array') },
    ],
    ['no answer', { answer: undefined }, { shapes: expect.stringContaining('got undefined') }],
    ['a message without a role', { answer: { messages: [{}] } }, { shapes: expect.stringContaining('messages[0]') }],
    ['an estimate below zero', { answer: { messages: [], estimatedTokens: -1 } }, { shapes: 'estimatedTokens is -1' }],
    [
      'a mark that cannot be read',
      { answer: { messages: [], contextProjection: { mode: 'thread_bootstrap' } } },
      { shapes: expect.stringContaining('contextProjection') },
    ],
    [
      'another epoch for the same question',
      {
        answer: { messages: [], contextProjection: { mode: 'thread_bootstrap', epoch: 'a' } },
        again: { answer: { messages: [], contextProjection: { mode: 'thread_bootstrap', epoch: 'b' } } },
      },
      { epoch: '"a", then "b"' },
    ],
    ['a commit that says nothing', { method: 'commitTurn', answer: { status: 'ok' } }, { shapes: '{"status":"ok"}' }],
    [
      'a compaction that says nothing',
      { method: 'compact', answer: {} },
      { shapes: expect.stringContaining('booleans') },
    ],
    ['maintenance that says nothing', { method: 'maintain', answer: undefined }, {}],
    [
      'maintenance that says too much',
      { method: 'maintain', answer: { bytesFreed: '1' } },
      { shapes: 'bytesFreed is "1"' },
    ],
    ['any answer that no host reads', { method: 'afterTurn', answer: 7 }, {}],
  ])('%s', (_name, call, broken) => {
    expect(brokenBy(call)).toEqual(broken);
  });

  it('may be refused where it should be', () => {
    expect(brokenBy({ method: 'commitTurn', end: 'threw', error: 'no' }, true)).toEqual({});
  });
});

describe('verdicts', () => {
  const finding = (...path: string[]) => ({ expected: 'e', found: path.join(), path });

  it('keep the finding with the fewest steps, the first of equal ones', () => {
    const told: [string, ClauseState][] = [];
    const verdicts = new Verdicts((...news) => told.push(news));
    verdicts.notExercised('budget', 'not yet');
    verdicts.held('budget');
    verdicts.broken('budget', finding('a', 'b'));
    verdicts.broken('budget', finding('c'));
    verdicts.broken('budget', finding('d'));
    verdicts.notExercised('budget', 'never');
    expect(verdicts.of('budget')).toEqual({ runs: 4, broken: finding('c'), reason: null });
    expect(told.map(([, { runs }]) => runs)).toEqual([0, 1, 2, 3]);
  });

  it('of two processes are put together', () => {
    const [long, short] = [finding('a', 'b'), finding('c')];
    const merged = mergeStates({ runs: 1, broken: long, reason: null }, { runs: 2, broken: short, reason: 'r' });
    expect(merged).toEqual({ runs: 3, broken: short, reason: 'r' });
    expect(mergeStates({ runs: 0, broken: null, reason: 'x' }, { runs: 0, broken: null, reason: 'y' }).reason).toBe(
      'x',
    );
  });

  it('are told to people without secrets, a repeated step once', () => {
    const state = {
      runs: 1,
      broken: { expected: 'e', found: 'Bearer abcdef123456', path: ['a', 'a', 'b'] },
      reason: null,
    };
    const text = reportText({
      type: 'conform',
      ok: false,
      engine: { id: 'x', name: 'X', version: null, source: 'x.mjs', finalizer: 'ingest', methods: [] },
      clauses: clauseReports(new Map([['hangs', state]]), 'it ended').slice(1, 4),
      paths: { total: 3, driven: 1, leftOut: 2 },
      calls: 5,
      longestStallMs: 0,
      ended: 'it ended',
    });
    expect(text).toBe(
      [
        'x (x.mjs), finalized by ingest()',
        '',
        'not exercised  answers  every call is answered, none throws: it ended',
        'BROKEN         hangs    every call ends in time',
        '    expected: e',
        '    found:    Bearer [redacted]',
        '    path:     a (2 times) → b',
        'not exercised  inside   nothing is thrown outside of a call, and the process is left alone: it ended',
        '',
        '0 held, 1 broken, 2 not exercised',
        '5 calls, 1 of 3 paths (no time for 2), longest standstill of the event loop 0 ms',
        'ended early: it ended',
        '',
      ].join('\n'),
    );
  });
});

describe('the environment of an examination', () => {
  it('has its homes below one folder, and nothing of OpenClaw', () => {
    const { variables, folders } = isolatedEnvironment(
      { PATH: '/bin', HOME: '/home/me', OPENCLAW_CONFIG_PATH: '/mine', TOKEN: 't', GONE: undefined },
      '/base',
    );
    expect(variables).toMatchObject({
      PATH: '/bin',
      TOKEN: 't',
      HOME: '/base/home',
      OPENCLAW_STATE_DIR: '/base/openclaw',
    });
    expect(Object.keys(variables)).not.toEqual(expect.arrayContaining(['OPENCLAW_CONFIG_PATH']));
    expect(Object.keys(variables)).not.toEqual(expect.arrayContaining(['GONE']));
    expect(folders.every((folder) => folder.startsWith('/base/'))).toBe(true);
  });
});

describe('the paths of an engine', () => {
  const info = { id: 'x', name: 'x' };
  const paths = enginePaths({ info, bootstrap: true, maintain: false, durable: false });

  it('come shortest first, and no two look the same to it', () => {
    const lengths = paths.map(({ steps }) => steps.length);
    expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
    const texts = paths.map(({ steps }) => steps.map(stepText).join(' → '));
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts).toContain('open: file, bound → drainOutbox → read → ABORT while bootstrap.engine');
  });

  it('take every step in which the engine is asked something', () => {
    const steps = new Set(paths.flatMap((path) => path.steps.map(stepText)));
    expect(
      [
        'bootstrapEngine',
        'assemble',
        'finalize: ok',
        'turn: failed',
        'turn: yielded',
        'ABORT while finalizing.working',
      ].filter((step) => !steps.has(step)),
    ).toEqual([]);
    expect([...steps].filter((step) => step.startsWith('maintain'))).toEqual([]);
  });
});
