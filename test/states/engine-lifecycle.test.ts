import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { maintenanceLane } from '../../src/engine/background.ts';
import * as lifecycle from '../../src/engine/context-engine-lifecycle.ts';
import type { ContextEngine } from '../../src/engine/contract.ts';
import { legacyEngine } from '../../src/engine/legacy.ts';
import { buildEngineRuntimeSettings } from '../../src/engine/runtime-context.ts';
import {
  assistant,
  deferred,
  hidden,
  manualClock,
  RUNTIME_CONTEXT,
  recordingEngine,
  TARGET,
  user,
} from './engine-fixtures.ts';

const {
  bootstrapHarnessContextEngine,
  assembleHarnessContextEngine,
  finalizeHarnessContextEngineTurn,
  runHarnessContextEngineMaintenance,
} = lifecycle;

const redact = (text: string): string => text.replaceAll('sk-secret', '[redacted]');

function session(contextEngine: ContextEngine | null) {
  const warnings: string[] = [];
  return {
    warnings,
    params: {
      contextEngine,
      sessionId: 'session-1',
      sessionKey: 'agent:main:main',
      sessionFile: 'session.jsonl',
      sessionTarget: TARGET,
      runtimeContext: RUNTIME_CONTEXT,
      warn: (message: string) => {
        warnings.push(message);
      },
      redact,
    },
  };
}

const BASE = {
  sessionId: 'session-1',
  sessionKey: 'agent:main:main',
  sessionFile: 'session.jsonl',
  sessionTarget: TARGET,
  runtimeContext: RUNTIME_CONTEXT,
};

describe('the module (spec L1)', () => {
  test('exports exactly the six helpers', () => {
    expect(Object.keys(lifecycle).sort()).toEqual([
      'assembleHarnessContextEngine',
      'bootstrapHarnessContextEngine',
      'buildHarnessContextEngineRuntimeContext',
      'buildHarnessContextEngineRuntimeContextFromUsage',
      'finalizeHarnessContextEngineTurn',
      'runHarnessContextEngineMaintenance',
    ]);
  });

  test('imports no harness, directly or through its own files', () => {
    for (const name of ['context-engine-lifecycle', 'finalize-turn', 'maintenance', 'runtime-context', 'outbox']) {
      const source = readFileSync(new URL(`../../src/engine/${name}.ts`, import.meta.url), 'utf8');
      const imports = [...source.matchAll(/from '([^']+)'/g)].map((match) => match[1]);
      expect(imports.filter((path) => /harness\/|attempt\/|codex\/|openclaw\//.test(path ?? ''))).toEqual([]);
    }
  });
});

describe('bootstrap (spec L2)', () => {
  test('calls the engine with the session, before the turn without a way to rewrite it', async () => {
    const { engine, calls } = recordingEngine({ bootstrap: () => ({ bootstrapped: true }) });
    const { params, warnings } = session(engine);
    const runtimeContext = { ...RUNTIME_CONTEXT, rewriteTranscriptEntries: async () => ({ changed: false }) };
    const answer = await bootstrapHarnessContextEngine({ ...params, runtimeContext, hadSessionFile: true });
    expect(answer).toEqual({ ok: true, ran: true });
    expect(calls).toEqual([{ method: 'bootstrap', params: BASE }]);
    expect(warnings).toEqual([]);
  });

  test.each([
    ['no session file existed', { hadSessionFile: false, engine: 'recorder' }],
    ['there is no engine', { hadSessionFile: true, engine: null }],
    ['the engine is legacy', { hadSessionFile: true, engine: 'legacy' }],
  ])('calls nothing when %s', async (_name, { hadSessionFile, engine: id }) => {
    const { engine, calls } = recordingEngine(
      { bootstrap: () => undefined, maintain: () => undefined },
      { id: id ?? 'recorder' },
    );
    const { params } = session(id === null ? null : engine);
    const runMaintenance = runHarnessContextEngineMaintenance;
    expect(await bootstrapHarnessContextEngine({ ...params, hadSessionFile, runMaintenance })).toEqual({
      ok: true,
      ran: false,
    });
    expect(calls).toEqual([]);
  });

  test('maintains after bootstrap when runMaintenance is given, and only then', async () => {
    const { engine, calls } = recordingEngine({ bootstrap: () => undefined, maintain: () => undefined });
    const { params } = session(engine);
    await bootstrapHarnessContextEngine({ ...params, hadSessionFile: true });
    expect(calls.map((call) => call.method)).toEqual(['bootstrap']);
    await bootstrapHarnessContextEngine({
      ...params,
      hadSessionFile: true,
      runMaintenance: runHarnessContextEngineMaintenance,
    });
    expect(calls.slice(1)).toEqual([
      { method: 'bootstrap', params: BASE },
      { method: 'maintain', params: { ...BASE, reason: 'bootstrap' } },
    ]);
  });

  test('maintains an engine that has only maintain', async () => {
    const { engine, calls } = recordingEngine({ maintain: () => undefined });
    const { params } = session(engine);
    const runMaintenance = runHarnessContextEngineMaintenance;
    const answer = await bootstrapHarnessContextEngine({ ...params, hadSessionFile: true, runMaintenance });
    expect(answer).toEqual({ ok: true, ran: false });
    expect(calls).toEqual([{ method: 'maintain', params: { ...BASE, reason: 'bootstrap' } }]);
  });

  test.each([
    [
      'an Error',
      new Error('ENOENT: no such file "agent:x:y" sk-secret'),
      'ENOENT: no such file "agent:x:y" [redacted]',
    ],
    ['a string', 'sk-secret', '[redacted]'],
    ['undefined', undefined, 'undefined'],
  ])('a failure (%s) warns once, is returned, and stops maintenance (BL-06)', async (_name, thrown, text) => {
    const { engine, calls } = recordingEngine({
      bootstrap: () => {
        throw thrown;
      },
      maintain: () => undefined,
    });
    const { params, warnings } = session(engine);
    const runMaintenance = runHarnessContextEngineMaintenance;
    const answer = await bootstrapHarnessContextEngine({ ...params, hadSessionFile: true, runMaintenance });
    expect(answer).toMatchObject({
      ok: false,
      error: { code: 'engine_failed', message: `context engine "recorder" bootstrap() failed: ${text}` },
    });
    expect(warnings).toEqual([
      `context engine bootstrap failed: context engine "recorder" bootstrap() failed: ${text}`,
    ]);
    expect(calls.map((call) => call.method)).toEqual(['bootstrap']);
  });

  test('failed bootstrap maintenance is a failure of its own', async () => {
    const { engine } = recordingEngine({ maintain: () => Promise.reject(new Error('no')) });
    const { params, warnings } = session(engine);
    const runMaintenance = runHarnessContextEngineMaintenance;
    const answer = await bootstrapHarnessContextEngine({ ...params, hadSessionFile: true, runMaintenance });
    expect(answer).toMatchObject({ ok: false, error: { code: 'engine_failed' } });
    expect(warnings).toEqual([
      'context engine bootstrap maintenance failed: context engine "recorder" maintain() failed: no',
    ]);
  });

  test('a session without a key uses its id as key (spec L5)', async () => {
    for (const sessionKey of [undefined, '', '  ']) {
      const { engine, calls } = recordingEngine({ bootstrap: () => undefined });
      const { params } = session(engine);
      await bootstrapHarnessContextEngine({ ...params, sessionKey, hadSessionFile: true });
      expect(calls[0]?.params['sessionKey']).toBe('session-1');
    }
  });
});

describe('assemble (spec L3)', () => {
  const question = { tokenBudget: 321, modelId: 'gpt-test', prompt: 'hello', citationsMode: 'on' };

  test('every argument arrives, hidden rows do not', async () => {
    const { engine, calls } = recordingEngine();
    const { params, warnings } = session(engine);
    const availableTools = new Set(['exec']);
    const answer = await assembleHarnessContextEngine({
      ...params,
      ...question,
      availableTools,
      messages: [user('a'), hidden('this turn only'), assistant('b')],
    });
    expect(answer).toEqual({
      ok: true,
      result: { messages: [user('a'), assistant('b')], estimatedTokens: 1 },
    });
    expect(calls).toEqual([
      {
        method: 'assemble',
        params: {
          ...BASE,
          messages: [user('a'), assistant('b')],
          tokenBudget: 321,
          availableTools: new Set(['exec']),
          citationsMode: 'on',
          model: 'gpt-test',
          prompt: 'hello',
        },
      },
    ]);
    expect(calls[0]?.params['availableTools']).not.toBe(availableTools);
    expect(warnings).toEqual([]);
  });

  test('the engine gets copies: what it changes stays with it', async () => {
    const history = [user('kept')];
    const { engine } = recordingEngine({
      assemble: ({ messages, runtimeContext }) => {
        const rows = messages as { content: string }[];
        for (const row of rows) row.content = 'changed';
        (runtimeContext as { tokenBudget: number }).tokenBudget = 0;
        return { messages: rows.splice(0) };
      },
    });
    const { params } = session(engine);
    await assembleHarnessContextEngine({ ...params, ...question, availableTools: new Set(), messages: history });
    expect(history).toEqual([user('kept')]);
    expect(RUNTIME_CONTEXT.tokenBudget).toBe(1000);
  });

  test('functions of the runtime context stay functions', async () => {
    const complete = async () => ({ text: 't', provider: 'p', model: 'm' });
    const { engine, calls } = recordingEngine();
    const { params } = session(engine);
    const runtimeContext = { ...RUNTIME_CONTEXT, llm: { complete } };
    await assembleHarnessContextEngine({
      ...params,
      runtimeContext,
      ...question,
      availableTools: new Set(),
      messages: [],
    });
    expect(calls[0]?.params['runtimeContext']).toEqual(runtimeContext);
  });

  test.each([
    ['undefined', undefined, 'expected an object with a "messages" array, got undefined'],
    ['null', null, 'expected an object with a "messages" array, got null'],
    ['a number', 7, 'expected an object with a "messages" array, got number'],
    ['a text', 'messages', 'expected an object with a "messages" array, got string'],
    ['an array', [], 'expected an object with a "messages" array, got array'],
    ['no messages', { estimatedTokens: 0 }, 'expected "messages" to be an array, got undefined'],
    ['null messages', { messages: null }, 'expected "messages" to be an array, got null'],
    ['messages that are no array', { messages: {} }, 'expected "messages" to be an array, got object'],
    ['a message that is null', { messages: [null] }, 'messages[0] is not a message with a role and content'],
    [
      'a message without a role',
      { messages: [{ content: 'x' }] },
      'messages[0] is not a message with a role and content',
    ],
    [
      'a message without content',
      { messages: [{ role: 'user' }] },
      'messages[0] is not a message with a role and content',
    ],
    [
      'content that is neither text nor list',
      { messages: [{ role: 'user', content: 5 }] },
      'messages[0] is not a message with a role and content',
    ],
    [
      'a figure that is not finite',
      { messages: [{ ...user('x'), timestamp: Number.NaN }] },
      'messages[0].timestamp is not a finite number',
    ],
    ['a function inside', { messages: [{ ...user('x'), run: () => 1 }] }, 'messages[0].run is a function'],
    ['an object of a class', { messages: [{ ...user('x'), at: new Date(0) }] }, 'messages[0].at is not plain data'],
  ])('%s is refused, naming the engine; the history stands in (BL-03, LIFE-4..8)', async (_name, answer, what) => {
    const { engine } = recordingEngine({ assemble: () => answer });
    const { params, warnings } = session(engine);
    const history = [user('a')];
    const outcome = await assembleHarnessContextEngine({
      ...params,
      ...question,
      availableTools: new Set(),
      messages: history,
    });
    const message = `context engine "recorder" assemble() returned a bad result: ${what}`;
    expect(outcome).toMatchObject({ ok: false, error: { code: 'engine_bad_result', message }, messages: [user('a')] });
    expect(warnings).toEqual([`context engine assemble failed, the prompt goes out as it is: ${message}`]);
  });

  test('a throw is a failure with a redacted text (RUN-27)', async () => {
    const { engine } = recordingEngine({ assemble: () => Promise.reject(new Error('Bearer sk-secret')) });
    const { params, warnings } = session(engine);
    const outcome = await assembleHarnessContextEngine({
      ...params,
      ...question,
      availableTools: new Set(),
      messages: [],
    });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'engine_failed' }, messages: [] });
    expect(JSON.stringify([outcome, warnings])).not.toContain('sk-secret');
    expect(outcome.ok ? null : outcome.error.cause).toBeUndefined();
  });

  test.each([null, legacyEngine])('without an engine the history is the answer', async (engine) => {
    const { params } = session(engine);
    const outcome = await assembleHarnessContextEngine({
      ...params,
      ...question,
      availableTools: new Set(),
      messages: [user('abcd')],
    });
    expect(outcome).toEqual({ ok: true, result: { messages: [user('abcd')], estimatedTokens: 1 } });
  });

  test('an engine that never answers is given up when the signal aborts (BL-05)', async () => {
    const hang = deferred<unknown>();
    const { engine, calls } = recordingEngine({ assemble: () => hang.promise });
    const { params, warnings } = session(engine);
    const controller = new AbortController();
    const { signal } = controller;
    const asked = assembleHarnessContextEngine({
      ...params,
      signal,
      ...question,
      availableTools: new Set(),
      messages: [],
    });
    controller.abort();
    expect(await asked).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(calls[0]?.params['abortSignal']).toBe(signal);
    hang.reject(new Error('too late sk-secret'));
    await expect
      .poll(() => warnings.at(-1))
      .toBe('context engine "recorder" assemble() failed: too late [redacted] (after it was given up)');
  });

  test('an aborted signal keeps the engine from being called at all', async () => {
    const { engine, calls } = recordingEngine();
    const { params } = session(engine);
    const signal = AbortSignal.abort();
    const outcome = await assembleHarnessContextEngine({
      ...params,
      signal,
      ...question,
      availableTools: new Set(),
      messages: [],
    });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(calls).toEqual([]);
  });

  test.each([
    ['before its first await', (): unknown => block(1200)],
    [
      'between awaits that are only microtasks',
      async () => {
        await null;
        return block(1200);
      },
    ],
  ])('an engine that blocks the event loop %s is named in a warning', async (_name, assemble) => {
    const { engine } = recordingEngine({ assemble });
    const { params, warnings } = session(engine);
    await assembleHarnessContextEngine({ ...params, ...question, availableTools: new Set(), messages: [] });
    expect(warnings).toEqual([
      expect.stringMatching(/^context engine "recorder" blocked the event loop for \d{4,} ms in assemble\(\)$/),
    ]);
  });
});

function block(ms: number): unknown {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return { messages: [] };
}

describe('host-added parameters (spec D5)', () => {
  const asked = async (acceptedHostParams: readonly string[] | undefined): Promise<string[]> => {
    const { engine, calls } = recordingEngine({}, acceptedHostParams === undefined ? {} : { acceptedHostParams });
    const { params } = session(engine);
    await assembleHarnessContextEngine({
      ...params,
      signal: new AbortController().signal,
      tokenBudget: 1,
      modelId: 'm',
      prompt: 'p',
      availableTools: new Set(),
      messages: [],
    });
    return Object.keys(calls[0]?.params ?? {}).sort();
  };
  const own = ['availableTools', 'messages', 'model', 'sessionFile', 'sessionId', 'tokenBudget'];

  test('all arrive when the engine names none', async () => {
    expect(await asked(undefined)).toEqual(
      [...own, 'abortSignal', 'prompt', 'runtimeContext', 'sessionKey', 'sessionTarget'].sort(),
    );
  });

  test('only the named ones arrive', async () => {
    expect(await asked([])).toEqual(own);
    expect(await asked(['sessionKey', 'prompt', 'unheard-of'])).toEqual([...own, 'prompt', 'sessionKey'].sort());
  });
});

test('runtimeSettings and the session target reach every call (LIFE-2)', async () => {
  const { engine, calls } = recordingEngine({
    bootstrap: () => undefined,
    maintain: () => undefined,
    afterTurn: () => undefined,
  });
  const runtimeSettings = buildEngineRuntimeSettings({
    requestedModel: null,
    resolvedModel: 'gpt-test',
    provider: 'openai',
    engineId: 'recorder',
    promptTokenBudget: 1,
  });
  const params = { ...session(engine).params, runtimeSettings };
  await bootstrapHarnessContextEngine({ ...params, hadSessionFile: true });
  await assembleHarnessContextEngine({
    ...params,
    tokenBudget: 1,
    modelId: 'gpt-test',
    prompt: 'p',
    availableTools: new Set(),
    messages: [],
  });
  await finalizeHarnessContextEngineTurn({
    ...params,
    promptError: null,
    aborted: false,
    yieldAborted: false,
    sessionIdUsed: 'session-1',
    messagesSnapshot: [user('p')],
    prePromptMessageCount: 0,
    tokenBudget: 1,
    runMaintenance: runHarnessContextEngineMaintenance,
  });
  expect(calls.map(({ method, params: got }) => [method, got['runtimeSettings'], got['sessionTarget']])).toEqual(
    ['bootstrap', 'assemble', 'afterTurn', 'maintain'].map((method) => [method, runtimeSettings, TARGET]),
  );
});

describe('maintenance', () => {
  test('rewriting is offered after the turn and withheld before it', async () => {
    const rewrite = async () => ({ changed: true });
    const { engine, calls } = recordingEngine({ maintain: () => ({ changed: false }) });
    const { params } = session(engine);
    const sessionManager = { rewriteTranscriptEntries: rewrite };
    for (const reason of ['turn', 'bootstrap'] as const) {
      expect(await runHarnessContextEngineMaintenance({ ...params, sessionManager, reason })).toEqual({
        ok: true,
        ran: true,
        mode: 'foreground',
      });
    }
    expect(calls.map((call) => call.params)).toEqual([
      { ...BASE, runtimeContext: { ...RUNTIME_CONTEXT, rewriteTranscriptEntries: rewrite }, reason: 'turn' },
      { ...BASE, reason: 'bootstrap' },
    ]);
  });

  test('says why nothing ran', async () => {
    const without = session(null).params;
    expect(await runHarnessContextEngineMaintenance({ ...without, reason: 'turn' })).toEqual({
      ok: true,
      ran: false,
      reason: 'no-engine',
    });
    const { params } = session(recordingEngine().engine);
    expect(await runHarnessContextEngineMaintenance({ ...params, reason: 'turn' })).toEqual({
      ok: true,
      ran: false,
      reason: 'not-offered',
    });
  });

  test('background work is handed to the lane and outlives the attempt (spec D4)', async () => {
    const work = deferred<unknown>();
    const { engine, calls } = recordingEngine({ maintain: () => work.promise }, { turnMaintenanceMode: 'background' });
    const { params, warnings } = session(engine);
    const lane = maintenanceLane('lane-1');
    const controller = new AbortController();
    const handed = await runHarnessContextEngineMaintenance({
      ...params,
      signal: controller.signal,
      lane,
      reason: 'turn',
    });
    expect(handed).toEqual({ ok: true, ran: true, mode: 'background' });
    controller.abort();
    const clock = manualClock();
    const early = maintenanceLane('lane-1').idle(50, clock);
    clock.advance(50);
    expect(await early).toBe(false);
    work.reject(new Error('sk-secret'));
    expect(await lane.idle(50, clock)).toBe(true);
    expect(warnings).toEqual([
      'context engine turn maintenance failed: context engine "recorder" maintain() failed: [redacted]',
    ]);
    expect(calls.map((call) => call.params['abortSignal'])).toEqual([undefined]);
  });

  test('bootstrap maintenance is waited for, whatever the mode', async () => {
    const { engine } = recordingEngine({ maintain: () => undefined }, { turnMaintenanceMode: 'background' });
    const { params } = session(engine);
    const lane = maintenanceLane('lane-2');
    expect(await runHarnessContextEngineMaintenance({ ...params, lane, reason: 'bootstrap' })).toEqual({
      ok: true,
      ran: true,
      mode: 'foreground',
    });
  });

  test('a lane runs its work in order, one at a time, and not that of other sessions', async () => {
    const first = deferred<void>();
    const seen: string[] = [];
    const lane = maintenanceLane('lane-3');
    const ignore = (): void => undefined;
    lane.run(
      async () => {
        seen.push('first');
        await first.promise;
        throw new Error('fails');
      },
      (error) => seen.push(String(error)),
    );
    lane.run(async () => seen.push('second'), ignore);
    maintenanceLane('lane-4').run(async () => seen.push('other'), ignore);
    const clock = manualClock();
    expect(await maintenanceLane('lane-4').idle(1, clock)).toBe(true);
    expect(seen).toEqual(['first', 'other']);
    first.resolve();
    expect(await lane.idle(1, clock)).toBe(true);
    expect(seen).toEqual(['first', 'other', 'Error: fails', 'second']);
  });
});
