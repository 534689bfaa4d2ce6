import { describe, expect, test } from 'vitest';
import { legacyEngine } from '../../src/engine/legacy.ts';
import { hostCapabilities, resolveEngineRequirements } from '../../src/engine/requirements.ts';
import { checkAssembleResult, checkCommitResult, checkCompactResult } from '../../src/engine/result-checks.ts';
import {
  buildEngineRuntimeSettings,
  buildHarnessContextEngineRuntimeContext,
  buildHarnessContextEngineRuntimeContextFromUsage,
} from '../../src/engine/runtime-context.ts';
import { estimateTokens } from '../../src/engine/tokens.ts';
import { assistant, recordingEngine, TARGET, toolResult, user } from './engine-fixtures.ts';

function check(answer: unknown, limits?: { textChars: number; messages: number }) {
  const warnings: string[] = [];
  const result = checkAssembleResult(answer, 'e', (message) => warnings.push(message), limits);
  return { result, warnings };
}

describe('the answer of assemble', () => {
  test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, -1, 0, '12', null])(
    'an estimate of %s is made anew',
    (estimatedTokens) => {
      expect(check({ messages: [user('12345678')], estimatedTokens }).result.estimatedTokens).toBe(2);
    },
  );

  test.each([
    [1, [user('12345678')], 1],
    [0, [], 0],
  ])('an estimate of %s for %j is taken', (estimatedTokens, messages, expected) => {
    expect(check({ messages, estimatedTokens }).result.estimatedTokens).toBe(expected);
  });

  test.each([undefined, null, '', ' \n\t'])('an addition of %j is absent', (systemPromptAddition) => {
    expect(check({ messages: [], systemPromptAddition })).toEqual({
      result: { messages: [], estimatedTokens: 0 },
      warnings: [],
    });
  });

  test('an addition arrives as it is; one that is no text is left out with a warning', () => {
    expect(check({ messages: [], systemPromptAddition: ' recall\n' }).result.systemPromptAddition).toBe(' recall\n');
    for (const [value, name] of [
      [7, 'number'],
      [{}, 'object'],
      [['x'], 'array'],
    ] as const) {
      expect(check({ messages: [], systemPromptAddition: value })).toEqual({
        result: { messages: [], estimatedTokens: 0 },
        warnings: [`context engine "e" assemble() returned a systemPromptAddition that is ${name}; left out`],
      });
    }
  });

  test('a projection mark needs mode thread_bootstrap and an epoch', () => {
    const mark = (contextProjection: unknown) => check({ messages: [], contextProjection });
    const absent = { messages: [], estimatedTokens: 0 };
    const good = { mode: 'thread_bootstrap', epoch: 'e1' };
    expect(mark(good).result.contextProjection).toEqual(good);
    expect(mark({ ...good, fingerprint: 'f', extra: 1 }).result.contextProjection).toEqual({
      ...good,
      fingerprint: 'f',
    });
    expect(mark({ ...good, fingerprint: 3 }).result.contextProjection).toEqual(good);
    for (const value of [undefined, null, { mode: 'per_turn' }, { mode: 'per_turn', epoch: 'e1' }]) {
      expect(mark(value)).toEqual({ result: absent, warnings: [] });
    }
    for (const value of [
      'e1',
      {},
      { mode: 'thread_bootstrap' },
      { ...good, epoch: '' },
      { ...good, epoch: 4 },
      { ...good, mode: 'x' },
    ]) {
      expect(mark(value)).toEqual({
        result: absent,
        warnings: ['context engine "e" assemble() returned a contextProjection that cannot be read; taken as absent'],
      });
    }
  });

  test('a tool result without its call is left out, calls and pairs stay', () => {
    const pair = [assistant('', ['a', 'b']), toolResult('a', 'one'), toolResult('b', 'two')];
    const open = assistant('', ['c']);
    expect(check({ messages: [...pair, open] })).toEqual({
      result: { messages: [...pair, open], estimatedTokens: expect.any(Number) as number },
      warnings: [],
    });
    const orphans = [
      toolResult('a', 'before its call'),
      ...pair,
      toolResult('a', 'a second time'),
      toolResult('z', 'no call'),
    ];
    const checked = check({ messages: orphans });
    expect(checked.result.messages).toEqual(pair);
    expect(checked.warnings).toEqual([
      'context engine "e" assemble() returned 3 tool result(s) without their call; left out',
    ]);
  });

  test('too much is refused', () => {
    const limits = { textChars: 40, messages: 2 };
    expect(() => check({ messages: [user('a'), user('b'), user('c')] }, limits)).toThrow(
      '3 messages are more than the limit of 2',
    );
    expect(() => check({ messages: [user('x'.repeat(41))] }, limits)).toThrow(
      'more text than the limit of 40 characters',
    );
    expect(() => check({ messages: [], systemPromptAddition: 'x'.repeat(41) }, limits)).toThrow(
      'longer than 40 characters',
    );
  });

  test('a cycle is refused', () => {
    const message: Record<string, unknown> = { role: 'user', content: 'x' };
    message['self'] = message;
    expect(() => check({ messages: [message] })).toThrow('data nested too deeply, or a cycle');
  });

  test('the result is a copy: what the engine does to its own later is not seen', () => {
    const own = [user('as returned')];
    const { result } = check({ messages: own });
    Object.assign(own[0] ?? {}, { content: 'changed' });
    own.push(user('more'));
    expect(result.messages).toEqual([user('as returned')]);
  });

  test('rows of unknown roles and unknown fields are kept', () => {
    const rows = [
      { role: 'compactionSummary', summary: 's', tokensBefore: 3 },
      { ...user('x'), sender: { id: 'u1' } },
    ];
    expect(check({ messages: rows }).result.messages).toEqual(rows);
  });
});

describe('the answers of compact and commitTurn', () => {
  test('a compaction result is taken with the figures that are figures', () => {
    expect(checkCompactResult({ ok: true, compacted: false, reason: 'below threshold' }, 'e')).toEqual({
      ok: true,
      compacted: false,
      reason: 'below threshold',
    });
    const result = { summary: 's', tokensBefore: 55, tokensAfter: Number.MAX_VALUE, details: { engine: 'primary' } };
    expect(checkCompactResult({ ok: true, compacted: true, result }, 'e')).toEqual({
      ok: true,
      compacted: true,
      result,
    });
    expect(
      checkCompactResult({ ok: true, compacted: true, result: { tokensBefore: -1, tokensAfter: '4' } }, 'e').result,
    ).toEqual({});
  });

  test.each([
    undefined,
    null,
    'ok',
    {},
    { ok: true },
    { ok: 'yes', compacted: true },
    { ok: true, compacted: true, result: 3 },
    { ok: true, compacted: true, result: { details: () => 1 } },
  ])('a compaction answer %j is refused', (answer) => {
    expect(() => checkCompactResult(answer, 'e')).toThrow(/^context engine "e" compact\(\) returned a bad result: /);
  });

  test('only the two answers of the contract are a commit', () => {
    for (const status of ['committed', 'duplicate'])
      expect(checkCommitResult({ status, more: 1 }, 'e')).toEqual({ status });
    for (const answer of [undefined, null, true, {}, { ok: true }, { status: 'ok' }]) {
      expect(() => checkCommitResult(answer, 'e')).toThrow('context engine "e" commitTurn() returned a bad result');
    }
  });
});

describe('requirements (spec D5)', () => {
  const needing = (hostRequirements: unknown) => {
    const { engine } = recordingEngine({}, { hostRequirements } as object);
    return engine;
  };

  test('met, or none stated', () => {
    const all = hostCapabilities({ completion: true });
    expect(resolveEngineRequirements(legacyEngine, 'agent-run', [])).toEqual([]);
    expect(
      resolveEngineRequirements(needing({ 'agent-run': { requiredCapabilities: [...all] } }), 'agent-run', all),
    ).toEqual(all);
    expect(resolveEngineRequirements(needing({ 'agent-run': ['compact'] }), 'agent-run', all)).toEqual(['compact']);
    expect(resolveEngineRequirements(needing({ 'manual-compact': ['magic'] }), 'agent-run', all)).toEqual([]);
    expect(resolveEngineRequirements(needing({ 'agent-run': {} }), 'agent-run', all)).toEqual([]);
  });

  test('unmet: names the engine, the operation and what is missing', () => {
    const engine = needing({
      'agent-run': {
        requiredCapabilities: ['bootstrap', 'runtime-llm-complete', 'magic'],
        unsupportedMessage: 'Use another host.',
      },
    });
    const refused = (): unknown =>
      resolveEngineRequirements(engine, 'agent-run', hostCapabilities({ completion: false }));
    expect(refused).toThrow(
      expect.objectContaining({
        code: 'engine_requirements',
        message:
          'context engine "recorder" cannot serve agent-run here: this host does not offer runtime-llm-complete, magic ' +
          '(configure a completion function). Use another host.',
        data: { engineId: 'recorder', operation: 'agent-run', missing: ['runtime-llm-complete', 'magic'] },
      }),
    );
  });

  test.each([[7], [{ requiredCapabilities: 'compact' }], [{ requiredCapabilities: [1] }], [[null]]])(
    'requirements of %j cannot be read',
    (stated) => {
      const refused = (): unknown => resolveEngineRequirements(needing({ 'agent-run': stated }), 'agent-run', []);
      expect(refused).toThrow(expect.objectContaining({ code: 'engine_invalid' }));
    },
  );
});

describe('runtimeContext (spec L6, M3)', () => {
  const params = {
    attempt: {
      agentId: 'main',
      provider: 'openai',
      modelId: 'gpt-test',
      config: { agents: {} },
      sessionTarget: TARGET,
      transcriptKind: 'jsonl',
    },
    workspaceDir: 'work',
    agentDir: 'agent',
    tokenBudget: 777,
  };
  const bare = {
    agentId: 'main',
    provider: 'openai',
    model: 'gpt-test',
    modelId: 'gpt-test',
    config: { agents: {} },
    tokenBudget: 777,
    sessionTarget: TARGET,
    transcriptStorage: { kind: 'jsonl' },
    workspaceDir: 'work',
    agentDir: 'agent',
  };
  const usage = (inputTokens: number, cachedInputTokens: number, outputTokens = 5) => ({
    inputTokens,
    cachedInputTokens,
    outputTokens,
    reasoningOutputTokens: 0,
    totalTokens: inputTokens + outputTokens,
  });

  test('holds what is known and nothing else', () => {
    expect(buildHarnessContextEngineRuntimeContext(params)).toEqual(bare);
    const complete = async () => ({ text: '', provider: 'p', model: 'm' });
    expect(
      buildHarnessContextEngineRuntimeContext({
        ...params,
        attempt: { ...params.attempt, contextWindow: 9000, complete },
        assembledTokenCount: 36,
        turnOutcome: 'completed',
      }),
    ).toEqual({ ...bare, contextWindow: 9000, llm: { complete }, assembledTokenCount: 36, turnOutcome: 'completed' });
  });

  test('cached input is counted once (BL-47)', () => {
    const lastCallUsage = { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, total: 105 };
    expect(buildHarnessContextEngineRuntimeContextFromUsage({ ...params, lastCallUsage: usage(100, 80) })).toEqual({
      ...bare,
      currentTokenCount: 100,
      lastCallUsage,
      promptCache: { lastCallUsage },
    });
  });

  test("the native prompt and the engine's own share are separate figures (BL-37)", () => {
    const context = buildHarnessContextEngineRuntimeContextFromUsage({
      ...params,
      assembledTokenCount: 36_000,
      lastCallUsage: usage(93_000, 0),
    });
    expect([context.currentTokenCount, context.assembledTokenCount]).toEqual([93_000, 36_000]);
    expect(settings().executionHost.id).toBe('codex-app-server');
  });

  test('two cache figures of zero over the turn count as not reported', () => {
    const context = (turnUsage: object | null, last = usage(100, 0)) =>
      buildHarnessContextEngineRuntimeContextFromUsage({
        ...params,
        lastCallUsage: last,
        turnUsage: turnUsage === null ? null : { ...usage(300, 0), ...turnUsage },
      });
    expect(context(null)).not.toHaveProperty('promptCache');
    expect(context({})).not.toHaveProperty('promptCache');
    const missed = { lastCallUsage: { input: 100, output: 5, cacheRead: 0, cacheWrite: 0, total: 105 } };
    expect(context({ cachedInputTokens: 50 }).promptCache).toEqual(missed);
    expect(context({ cacheWriteInputTokens: 9 }).promptCache).toEqual(missed);
  });

  test.each([
    ['absent', undefined],
    ['null', null],
    ['not finite', usage(Number.NaN, 0)],
    ['negative', usage(-1, 0)],
    ['a total without a split, as after a compaction', { ...usage(0, 0, 0), totalTokens: 5000 }],
  ])('usage that is %s is unknown, never zeros', (_name, lastCallUsage) => {
    expect(buildHarnessContextEngineRuntimeContextFromUsage({ ...params, lastCallUsage })).toEqual(bare);
  });

  test('more cached than read is read as all cached', () => {
    const { lastCallUsage } = buildHarnessContextEngineRuntimeContextFromUsage({
      ...params,
      lastCallUsage: usage(10, 40),
    });
    expect(lastCallUsage).toEqual({ input: 0, output: 5, cacheRead: 10, cacheWrite: 0, total: 15 });
  });

  const settings = (more: object = {}) =>
    buildEngineRuntimeSettings({
      requestedModel: 'gpt-test',
      resolvedModel: 'gpt-test',
      provider: 'openai',
      engineId: 'e',
      promptTokenBudget: 777,
      ...more,
    });

  test('runtimeSettings say how the run came about; the family is never guessed (LIFE-3)', () => {
    expect(settings()).toEqual({
      schemaVersion: 1,
      runtime: { host: 'openclaw', mode: 'normal', harnessId: 'codex', runtimeId: 'codex-app-server' },
      executionHost: { id: 'codex-app-server', label: 'Codex app-server harness' },
      model: { requested: 'gpt-test', resolved: 'gpt-test', provider: 'openai', family: null },
      contextEngineSelection: { selectedId: 'e', source: 'configured' },
      limits: { promptTokenBudget: 777, maxOutputTokens: null },
      diagnostics: { fallbackReason: null, degradedReason: null },
    });
    expect(settings({ requestedModel: 'other' }).runtime.mode).toBe('fallback');
    expect(settings({ fallbackReason: 'provider_unavailable' }).runtime.mode).toBe('fallback');
    expect(settings({ fallbackReason: 'x', degradedReason: 'context_overflow' }).runtime.mode).toBe('degraded');
  });
});

test('the estimate counts text, arguments and images, never base64', () => {
  const image = { type: 'image' as const, mimeType: 'image/png', data: 'A'.repeat(1_000_000) };
  expect(estimateTokens([{ role: 'user', content: [image], timestamp: 1 }])).toBe(1200);
  expect(estimateTokens([user('12345')])).toBe(2);
  expect(estimateTokens([{ role: 'compactionSummary' }])).toBe(0);
});
