import { describe, expect, test } from 'vitest';
import {
  finalizeHarnessContextEngineTurn,
  runHarnessContextEngineMaintenance,
} from '../../src/engine/context-engine-lifecycle.ts';
import type { ContextEngine, TranscriptAnchor } from '../../src/engine/contract.ts';
import { legacyEngine } from '../../src/engine/legacy.ts';
import { type AcceptedTurn, drainOutbox } from '../../src/engine/outbox.ts';
import {
  assistant,
  DURABLE,
  deferred,
  hidden,
  memoryOutbox,
  RUNTIME_CONTEXT,
  recordingEngine,
  TARGET,
  user,
} from './engine-fixtures.ts';

const PROMPT = user('prompt');
const ANSWER = assistant('answer');

function anchor(entryId: string, activeMessagePosition: number): TranscriptAnchor {
  const { agentId, sessionId, sessionKey, storePath } = TARGET;
  return {
    entryId,
    activeMessagePosition,
    agentId,
    sessionId,
    sessionKey,
    storePath,
    generation: 'g',
    rawSeq: activeMessagePosition,
    effectiveParentId: null,
  };
}

function turn(number: number): AcceptedTurn {
  const first = number * 2;
  return {
    advancementKey: `attempt-${number}`,
    admission: { ...anchor(`u${number}`, first), logicalTurnId: `attempt-${number}`, role: 'user' },
    terminal: anchor(`a${number}`, first + 1),
    messages: [user(`prompt ${number}`), assistant(`answer ${number}`)],
  };
}

function finalization(contextEngine: ContextEngine | null) {
  const warnings: string[] = [];
  return {
    warnings,
    params: {
      contextEngine,
      promptError: null as unknown,
      aborted: false,
      yieldAborted: false,
      sessionIdUsed: 'session-1',
      sessionKey: 'agent:main:main',
      sessionFile: 'session.jsonl',
      sessionTarget: TARGET,
      messagesSnapshot: [user('old'), hidden('h1'), PROMPT, hidden('h2'), ANSWER],
      prePromptMessageCount: 2,
      tokenBudget: 111,
      runtimeContext: RUNTIME_CONTEXT,
      warn: (message: string) => {
        warnings.push(message);
      },
      redact: (text: string) => text.replaceAll('sk-secret', '[redacted]'),
    },
  };
}

const base = (turnOutcome: string) => ({
  sessionId: 'session-1',
  sessionKey: 'agent:main:main',
  sessionFile: 'session.jsonl',
  sessionTarget: TARGET,
  runtimeContext: { ...RUNTIME_CONTEXT, turnOutcome },
  isHeartbeat: false,
});

const ENDS = [
  ['completed', {}],
  ['failed', { promptError: new Error('model failed') }],
  ['failed', { promptError: 'model failed' }],
  ['aborted', { aborted: true, promptError: new Error('stopped') }],
  ['yielded', { yieldAborted: true }],
] as const;

describe('one finalizer per turn (spec step 10)', () => {
  test.each(ENDS)(
    'afterTurn gets the snapshot without hidden rows, also of a turn that %s (M4, LIFE-1, BL-07)',
    async (outcome, end) => {
      const { engine, calls } = recordingEngine({ afterTurn: () => undefined, ingestBatch: () => undefined });
      const { params, warnings } = finalization(engine);
      expect(await finalizeHarnessContextEngineTurn({ ...params, ...end })).toEqual({ method: 'afterTurn', ok: true });
      expect(calls).toEqual([
        {
          method: 'afterTurn',
          params: {
            ...base(outcome),
            messages: [user('old'), PROMPT, ANSWER],
            prePromptMessageCount: 1,
            tokenBudget: 111,
          },
        },
      ]);
      expect(warnings).toEqual([]);
    },
  );

  test.each(ENDS)('without afterTurn the new rows go to ingestBatch at once (%s, RUN-28)', async (outcome, end) => {
    const { engine, calls } = recordingEngine({ ingestBatch: () => undefined });
    const { params } = finalization(engine);
    expect(await finalizeHarnessContextEngineTurn({ ...params, ...end })).toEqual({ method: 'ingestBatch', ok: true });
    expect(calls).toEqual([{ method: 'ingestBatch', params: { ...base(outcome), messages: [PROMPT, ANSWER] } }]);
  });

  test('without both, each new row goes to ingest', async () => {
    const { engine, calls } = recordingEngine();
    const { params } = finalization(engine);
    expect(await finalizeHarnessContextEngineTurn(params)).toEqual({ method: 'ingest', ok: true });
    expect(calls).toEqual([
      { method: 'ingest', params: { ...base('completed'), message: PROMPT } },
      { method: 'ingest', params: { ...base('completed'), message: ANSWER } },
    ]);
  });

  test('an ingest that fails does not keep the next row away, and is not ok', async () => {
    const { engine, calls } = recordingEngine({
      ingest: ({ message }) => {
        if (JSON.stringify(message) === JSON.stringify(PROMPT)) throw new Error('row refused sk-secret');
      },
    });
    const { params, warnings } = finalization(engine);
    expect(await finalizeHarnessContextEngineTurn(params)).toMatchObject({
      method: 'ingest',
      ok: false,
      error: { code: 'engine_failed' },
    });
    expect(calls.map((call) => call.params['message'])).toEqual([PROMPT, ANSWER]);
    expect(warnings).toEqual([
      'context engine ingest failed: context engine "recorder" ingest() failed: row refused [redacted]',
    ]);
  });

  test('seven turns are seven writes (BL-02)', async () => {
    const { engine, calls } = recordingEngine({ ingestBatch: () => undefined });
    const history = [user('old')];
    for (let count = 0; count < 7; count += 1) {
      const { params } = finalization(engine);
      const prePromptMessageCount = history.length;
      history.push(user(`p${count}`), assistant(`a${count}`));
      await finalizeHarnessContextEngineTurn({ ...params, messagesSnapshot: history, prePromptMessageCount });
    }
    expect(calls.map((call) => (call.params['messages'] as unknown[]).length)).toEqual([2, 2, 2, 2, 2, 2, 2]);
  });

  test.each(['ingestBatch', 'ingest'])(
    'a turn of which nothing can be written is a visible failure (%s, BL-02)',
    async (method) => {
      const { engine, calls } = recordingEngine(method === 'ingestBatch' ? { ingestBatch: () => undefined } : {});
      const { params, warnings } = finalization(engine);
      const answer = await finalizeHarnessContextEngineTurn({ ...params, prePromptMessageCount: 99 });
      expect(answer).toMatchObject({ method, ok: false, error: { code: 'finalize_failed' } });
      expect(warnings).toHaveLength(1);
      expect(calls).toEqual([]);
    },
  );

  test.each([undefined, false, true])('the heartbeat flag reaches every method (%s, LIFE-9)', async (isHeartbeat) => {
    for (const methods of [{ afterTurn: () => undefined }, { ingestBatch: () => undefined }, {}]) {
      // Also where the engine takes no host-added parameters: a heartbeat without its mark is stored as a turn.
      const { engine, calls } = recordingEngine(methods, { acceptedHostParams: [] });
      const { params } = finalization(engine);
      await finalizeHarnessContextEngineTurn({ ...params, isHeartbeat });
      expect(new Set(calls.map((call) => call.params['isHeartbeat']))).toEqual(new Set([isHeartbeat ?? false]));
    }
  });

  test.each([null, legacyEngine])('without an engine nothing is called', async (engine) => {
    const { params } = finalization(engine);
    expect(await finalizeHarnessContextEngineTurn(params)).toEqual({ method: 'none', ok: true, reason: 'no-engine' });
  });

  test('a finalizer that never answers ends with its signal (BL-05)', async () => {
    const { engine } = recordingEngine({ afterTurn: () => deferred().promise });
    const { params } = finalization(engine);
    const controller = new AbortController();
    const asked = finalizeHarnessContextEngineTurn({ ...params, signal: controller.signal });
    controller.abort();
    expect(await asked).toMatchObject({ method: 'afterTurn', ok: false, error: { code: 'aborted' } });
  });
});

describe('maintenance by the helper (spec L7, step 11)', () => {
  const maintained = async (end: object, methods: object = {}) => {
    const { engine, calls } = recordingEngine({ afterTurn: () => undefined, maintain: () => undefined, ...methods });
    const { params } = finalization(engine);
    const runMaintenance = runHarnessContextEngineMaintenance;
    const answer = await finalizeHarnessContextEngineTurn({ ...params, ...end, runMaintenance });
    return { maintenance: answer.maintenance, methods: calls.map((call) => call.method) };
  };

  test.each(ENDS)('a turn that %s', async (outcome, end) => {
    expect(await maintained(end)).toEqual(
      outcome === 'completed'
        ? { maintenance: { ok: true, ran: true, mode: 'foreground' }, methods: ['afterTurn', 'maintain'] }
        : { maintenance: undefined, methods: ['afterTurn'] },
    );
  });

  test('not after a failed finalization', async () => {
    const afterTurn = (): never => {
      throw new Error('no');
    };
    expect(await maintained({}, { afterTurn })).toEqual({ maintenance: undefined, methods: ['afterTurn'] });
  });
});

describe('durable engines (spec 7)', () => {
  const durable = (methods: object = {}) =>
    recordingEngine(
      {
        commitTurn: () => ({ status: 'committed' }),
        afterTurn: () => undefined,
        ingestBatch: () => undefined,
        ...methods,
      },
      { transcriptSemantics: DURABLE },
    );

  test('an accepted turn is committed, and told by no other method (D1)', async () => {
    const { engine, calls } = durable();
    const { params } = finalization(engine);
    const store = memoryOutbox();
    const answer = await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: turn(0), store } });
    expect(answer).toEqual({ method: 'commitTurn', ok: true });
    const { isHeartbeat, sessionFile: _sessionFile, ...identity } = base('completed');
    expect(calls).toEqual([{ method: 'commitTurn', params: { ...identity, isHeartbeat, ...turn(0) } }]);
    expect(store.records).toEqual([]);
  });

  test.each(ENDS.slice(1))('a turn that %s does not advance it (D3)', async (_outcome, end) => {
    const { engine, calls } = durable();
    const { params } = finalization(engine);
    const store = memoryOutbox();
    const answer = await finalizeHarnessContextEngineTurn({ ...params, ...end, commit: { turn: turn(0), store } });
    expect(answer).toEqual({ method: 'none', ok: true, reason: 'not-accepted' });
    expect([calls, store.records]).toEqual([[], []]);
  });

  test.each([
    ['one semantic only', { transcriptSemantics: { currentTurnFence: DURABLE.currentTurnFence } }],
    ['another version', { transcriptSemantics: { ...DURABLE, turnAdvancementIdempotency: 'atomic-idempotent-v2' } }],
    ['no semantics', {}],
  ])('%s is not durable', async (_name, info) => {
    const { engine, calls } = recordingEngine({ commitTurn: () => undefined, afterTurn: () => undefined }, info);
    const { params } = finalization(engine);
    await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: turn(0), store: memoryOutbox() } });
    expect(calls.map((call) => call.method)).toEqual(['afterTurn']);
  });

  test('both semantics without commitTurn is not durable', async () => {
    const { engine, calls } = recordingEngine({ afterTurn: () => undefined }, { transcriptSemantics: DURABLE });
    await finalizeHarnessContextEngineTurn(finalization(engine).params);
    expect(calls.map((call) => call.method)).toEqual(['afterTurn']);
  });

  test('an accepted turn without anchors is a visible failure', async () => {
    const { engine, calls } = durable();
    const { params, warnings } = finalization(engine);
    expect(await finalizeHarnessContextEngineTurn(params)).toMatchObject({
      method: 'commitTurn',
      ok: false,
      error: { code: 'finalize_failed' },
    });
    expect(warnings).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('database is locked')), 'engine_failed'],
    ['answers nothing', () => undefined, 'engine_bad_result'],
    ['answers another status', () => ({ status: 'refused' }), 'engine_bad_result'],
  ])('a commit that %s stays queued, and goes out first the next time', async (_name, fails, code) => {
    let broken = true;
    const { engine, calls } = durable({ commitTurn: () => (broken ? fails() : { status: 'committed' }) });
    const { params } = finalization(engine);
    const store = memoryOutbox();
    const failed = await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: turn(0), store } });
    expect(failed).toMatchObject({ method: 'commitTurn', ok: false, queued: true, error: { code } });
    broken = false;
    const next = await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: turn(1), store } });
    expect(next).toEqual({ method: 'commitTurn', ok: true });
    expect(calls.map((call) => call.params['advancementKey'])).toEqual(['attempt-0', 'attempt-0', 'attempt-1']);
    expect(store.records).toEqual([]);
  });

  test('a suspended engine is not called, its turn waits behind the others', async () => {
    const { engine, calls } = durable();
    const { params } = finalization(engine);
    const store = memoryOutbox();
    const commit = { turn: turn(0), store, suspended: true };
    expect(await finalizeHarnessContextEngineTurn({ ...params, commit })).toMatchObject({
      method: 'commitTurn',
      ok: false,
      queued: true,
      error: { code: 'engine_suspended' },
    });
    expect(calls).toEqual([]);
    expect(store.records.map((record) => record.advancementKey)).toEqual(['attempt-0']);
  });

  test('rows that do not span the anchors are not queued', async () => {
    for (const messages of [[], [PROMPT], [PROMPT, ANSWER, ANSWER]]) {
      const { engine, calls } = durable();
      const { params } = finalization(engine);
      const store = memoryOutbox();
      const commit = { turn: { ...turn(0), messages }, store };
      const answer = await finalizeHarnessContextEngineTurn({ ...params, commit });
      expect(answer).toMatchObject({ method: 'commitTurn', ok: false, error: { code: 'finalize_failed' } });
      expect(answer).not.toHaveProperty('queued');
      expect([calls, store.records]).toEqual([[], []]);
    }
  });

  test('an outbox that cannot be written is a failure that queued nothing', async () => {
    const { engine, calls } = durable();
    const { params } = finalization(engine);
    const store = memoryOutbox();
    store.fail.add('add');
    const answer = await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: turn(0), store } });
    expect(answer).toMatchObject({
      ok: false,
      error: { code: 'finalize_failed', message: "the turn's outbox failed: disk full in add" },
    });
    expect(answer).not.toHaveProperty('queued');
    expect(calls).toEqual([]);
  });

  test('the payload is frozen at acceptance', async () => {
    const { engine, calls } = durable({ commitTurn: () => Promise.reject(new Error('later')) });
    const { params } = finalization(engine);
    const store = memoryOutbox();
    const accepted = turn(0);
    await finalizeHarnessContextEngineTurn({ ...params, commit: { turn: accepted, store } });
    const first = structuredClone(calls[0]?.params['messages']);
    Object.assign(accepted.messages[0] ?? {}, { content: 'changed since' });
    const drained = drainOutbox({ store, sessionId: 'session-1', engine, live: {}, warn: () => undefined });
    await expect(drained).rejects.toMatchObject({ code: 'engine_failed' });
    expect(calls[1]?.params['messages']).toEqual(first);
  });
});

describe('draining the outbox (spec D3)', () => {
  const queue = (...numbers: number[]) =>
    memoryOutbox(
      numbers.map((number) => ({
        advancementKey: `attempt-${number}`,
        engineId: 'recorder',
        payload: { ...turn(number), sessionId: 'session-1', sessionKey: 'agent:main:main', isHeartbeat: false },
      })),
    );
  const committing = (commitTurn: (params: Readonly<Record<string, unknown>>) => unknown) =>
    recordingEngine({ commitTurn }, { transcriptSemantics: DURABLE });

  test('goes in order, with live parameters beside the frozen ones', async () => {
    const { engine, calls } = committing(() => ({ status: 'committed' }));
    const store = queue(0, 1, 2);
    const live = { sessionTarget: TARGET, runtimeContext: RUNTIME_CONTEXT };
    expect(await drainOutbox({ store, sessionId: 'session-1', engine, live, warn: () => undefined })).toEqual({
      committed: 3,
    });
    expect(calls.map((call) => call.params['advancementKey'])).toEqual(['attempt-0', 'attempt-1', 'attempt-2']);
    expect(calls[0]?.params).toMatchObject({ sessionTarget: TARGET, runtimeContext: RUNTIME_CONTEXT });
    expect(store.records).toEqual([]);
  });

  test('stops at the first failure and skips nothing', async () => {
    const { engine, calls } = committing(({ advancementKey }) => {
      if (advancementKey === 'attempt-1') throw new Error('refused');
      return { status: 'committed' };
    });
    const store = queue(0, 1, 2);
    const drained = drainOutbox({ store, sessionId: 'session-1', engine, live: {}, warn: () => undefined });
    await expect(drained).rejects.toMatchObject({ code: 'engine_failed' });
    expect(calls.map((call) => call.params['advancementKey'])).toEqual(['attempt-0', 'attempt-1']);
    expect(store.records.map((record) => record.advancementKey)).toEqual(['attempt-1', 'attempt-2']);
  });

  test('a crash after the commit and before its removal heals: a duplicate counts as done', async () => {
    const ledger = new Set<unknown>();
    const { engine } = committing(({ advancementKey }) => {
      const status = ledger.has(advancementKey) ? 'duplicate' : 'committed';
      ledger.add(advancementKey);
      return { status };
    });
    const store = queue(0, 1);
    store.fail.add('remove');
    await expect(
      drainOutbox({ store, sessionId: 'session-1', engine, live: {}, warn: () => undefined }),
    ).rejects.toThrow('disk full in remove');
    expect(store.records).toHaveLength(2);
    expect(await drainOutbox({ store, sessionId: 'session-1', engine, live: {}, warn: () => undefined })).toEqual({
      committed: 2,
    });
    expect(store.records).toEqual([]);
    expect([...ledger]).toEqual(['attempt-0', 'attempt-1']);
  });

  test('turns queued for another engine stay, with a warning', async () => {
    const { engine, calls } = committing(() => ({ status: 'committed' }));
    const store = queue(0);
    const foreign = { advancementKey: 'x', engineId: 'other', payload: {} };
    store.records.unshift(foreign);
    const warnings: string[] = [];
    await drainOutbox({ store, sessionId: 'session-1', engine, live: {}, warn: (message) => warnings.push(message) });
    expect(calls).toHaveLength(1);
    expect(store.records).toEqual([foreign]);
    expect(warnings).toEqual(['1 turn(s) wait for another context engine: other']);
  });

  test('turns of another session, whose file this one has replaced, stay, with a warning', async () => {
    const { engine, calls } = committing(() => ({ status: 'committed' }));
    const store = queue(0, 1);
    const warnings: string[] = [];
    const warn = (message: string) => warnings.push(message);
    expect(await drainOutbox({ store, sessionId: 'session-2', engine, live: {}, warn })).toEqual({ committed: 0 });
    expect(calls).toEqual([]);
    expect(store.records.map((record) => record.advancementKey)).toEqual(['attempt-0', 'attempt-1']);
    expect(warnings).toEqual([
      '2 turn(s) are queued of another conversation than the session file holds: not committed',
    ]);
  });

  test('an engine that hangs is given up with the signal, the turn stays', async () => {
    const { engine, calls } = committing(() => deferred().promise);
    const store = queue(0);
    const controller = new AbortController();
    const drained = drainOutbox({
      store,
      sessionId: 'session-1',
      engine,
      live: {},
      signal: controller.signal,
      warn: () => undefined,
    });
    await expect.poll(() => calls.length).toBe(1);
    controller.abort();
    await expect(drained).rejects.toMatchObject({ code: 'aborted' });
    expect(store.records).toHaveLength(1);
  });
});
