// Which calls an engine gets in a turn on the real app-server, in which order and with what (spec 2, L2-L4, D1-D4).
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptParams } from '../../src/attempt/types.ts';
import type { HostTool } from '../../src/ports.ts';
import { DURABLE, type EngineBehaviour, recordingEngine } from '../support/engines.ts';
import { conversationOf } from '../support/model-requests.ts';
import { type RehearsalBench, type RehearsedSession, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench();
});
afterAll(() => bench.close());

/** The rows on disk at this moment: role and text. */
function onDisk(session: RehearsedSession): unknown[] {
  const lines = readFileSync(session.sessionFile, 'utf8').trim().split('\n').slice(1);
  return lines.map((line) => textOf(JSON.parse(line).message));
}

function textOf(message: unknown): unknown[] {
  const { role, content } = message as { role: string; content: { text: string }[] };
  return [role, content.map((part) => part.text).join()];
}

const done = { bootstrapped: true };

describe('bootstrap', () => {
  it('is called only when a session file was there before, its maintenance with it', async () => {
    const session = await bench.session();
    const { engine, methods } = recordingEngine({ bootstrap: () => done, maintain: () => {}, afterTurn: () => {} });
    await session.run({ prompt: 'one' }, { engine });
    expect(methods()).toEqual(['assemble', 'afterTurn', 'maintain']);
    await session.run({ prompt: 'two' }, { engine });
    expect(methods().slice(3)).toEqual(['bootstrap', 'maintain', 'assemble', 'afterTurn', 'maintain']);
  });

  it('maintenance runs also for an engine without a bootstrap', async () => {
    const session = await bench.session();
    const { engine, of } = recordingEngine({ maintain: () => {} });
    await session.run({ prompt: 'one' }, { engine });
    await session.run({ prompt: 'two' }, { engine });
    expect(of('maintain').map((params) => params['reason'])).toEqual(['turn', 'bootstrap', 'turn']);
  });

  it('that fails is told and costs neither the turn nor the other calls', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const { engine, methods } = recordingEngine({
      bootstrap: () => {
        throw new Error('no database, key sk-abcdefghijklmnopqrstuvwx');
      },
      maintain: () => {},
      afterTurn: () => {},
    });
    await session.run({ prompt: 'one' }, { engine });
    const { result } = await session.run({ prompt: 'two' }, { engine });
    expect([result.outcome, result.text]).toEqual(['completed', 'second']);
    expect(methods().slice(3)).toEqual(['bootstrap', 'assemble', 'afterTurn', 'maintain']);
    expect(result.degraded).toEqual([
      { state: 'bootstrap.engine', code: 'engine_failed', message: expect.stringContaining('no database, key') },
    ]);
    expect(JSON.stringify(result)).not.toContain('sk-abcdefghij');
  });
});

describe('assemble', () => {
  const tool: HostTool = { name: 'lookup', description: 'd', parameters: { type: 'object' }, execute: () => 'x' };
  const params: Partial<AttemptParams> = {
    sessionKey: 'the-key',
    agentId: 'agent-7',
    tokenBudget: 5_000,
    citationsMode: 'inline',
    model: 'rehearsal-1',
  };

  it('gets every argument', async () => {
    const session = await bench.session([{ text: 'first' }]);
    const { engine, of } = recordingEngine({ afterTurn: () => {} });
    const completion = async () => ({ text: 't', provider: 'p', model: 'm' });
    const services = { engine, completion, tools: [tool, { ...tool, name: 'search', namespace: 'library' }] };
    const { result } = await session.run({ prompt: 'one', ...params }, services);
    expect(result.error).toBeUndefined();
    await session.run({ prompt: 'two', ...params }, services);
    const target = {
      agentId: 'agent-7',
      sessionId: result.sessionId,
      sessionKey: 'the-key',
      storePath: session.sessionFile,
    };
    const model = { provider: 'rehearsal', model: 'rehearsal-1', modelId: 'rehearsal-1' };
    expect(of('assemble')[1]).toEqual({
      sessionId: result.sessionId,
      sessionKey: 'the-key',
      sessionFile: session.sessionFile,
      sessionTarget: target,
      messages: await session.rows().then((rows) => rows.slice(0, 2)),
      tokenBudget: 5_000,
      availableTools: new Set(['lookup', 'library.search']),
      citationsMode: 'inline',
      model: 'rehearsal-1',
      prompt: 'two',
      abortSignal: expect.any(AbortSignal),
      runtimeContext: {
        agentId: 'agent-7',
        ...model,
        config: {},
        tokenBudget: 5_000,
        sessionTarget: target,
        transcriptStorage: { kind: 'jsonl' },
        workspaceDir: session.folder,
        agentDir: session.folder,
        llm: { complete: completion },
      },
      runtimeSettings: {
        schemaVersion: 1,
        runtime: { host: 'openclaw', mode: 'normal', harnessId: 'codex', runtimeId: 'codex-app-server' },
        executionHost: { id: 'codex-app-server', label: 'Codex app-server harness' },
        model: { requested: 'rehearsal-1', resolved: 'rehearsal-1', provider: 'rehearsal', family: null },
        contextEngineSelection: { selectedId: 'recorder', source: 'configured' },
        limits: { promptTokenBudget: 5_000, maxOutputTokens: null },
        diagnostics: { fallbackReason: null, degradedReason: null },
      },
    });
    expect(of('assemble')[1]?.['messages']).toHaveLength(2);
  });

  it.each<[string, NonNullable<EngineBehaviour['assemble']>]>([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['answers without messages', () => JSON.parse('{"answer":42}')],
  ])('that %s leaves the bare prompt and is told', async (_, assemble) => {
    const session = await bench.session();
    const { engine } = recordingEngine({ assemble });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result.outcome).toBe('completed');
    expect(result.degraded.map((step) => step.state)).toEqual(['assembling']);
    expect(conversationOf(session.lastBody())).toEqual([['user', 'one']]);
  });
});

describe('the finalizer', () => {
  it('afterTurn is called once, after the mirror, with the whole session as it is on disk', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const seen: unknown[] = [];
    const { engine, of } = recordingEngine({ afterTurn: () => seen.push(onDisk(session)) });
    await session.run({ prompt: 'one', isHeartbeat: true }, { engine });
    const { result } = await session.run({ prompt: 'two' }, { engine });
    const all = [
      ['user', 'one'],
      ['assistant', 'first'],
      ['user', 'two'],
      ['assistant', 'second'],
    ];
    expect(seen).toEqual([all.slice(0, 2), all]);
    expect(result.finalization).toEqual({ method: 'afterTurn', ok: true });
    expect(of('afterTurn')).toHaveLength(2);
    const [first, second] = of('afterTurn');
    expect(first).toMatchObject({ prePromptMessageCount: 0, isHeartbeat: true, tokenBudget: 128_000 });
    expect(second).toMatchObject({
      sessionId: result.sessionId,
      sessionKey: result.sessionId,
      sessionFile: session.sessionFile,
      prePromptMessageCount: 2,
      isHeartbeat: false,
      messages: await session.rows(),
      runtimeContext: { turnOutcome: 'completed', modelId: 'rehearsal-1' },
    });
    expect(of('ingest')).toEqual([]);
  });

  it('ingestBatch gets the new rows in one call when there is no afterTurn', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const { engine, of, methods } = recordingEngine({ ingestBatch: () => {} });
    await session.run({ prompt: 'one' }, { engine });
    const { result } = await session.run({ prompt: 'two' }, { engine });
    expect(methods()).toEqual(['assemble', 'ingestBatch', 'assemble', 'ingestBatch']);
    expect(of('ingestBatch')[1]?.['messages']).toEqual((await session.rows()).slice(2));
    expect(result.finalization).toEqual({ method: 'ingestBatch', ok: true });
  });

  it('ingest gets each new row in order when there is neither', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const { engine, of, methods } = recordingEngine();
    await session.run({ prompt: 'one' }, { engine });
    const { result } = await session.run({ prompt: 'two' }, { engine });
    expect(methods().slice(3)).toEqual(['assemble', 'ingest', 'ingest']);
    expect(of('ingest').map((params) => params['message'])).toEqual(await session.rows());
    expect(result.finalization).toEqual({ method: 'ingest', ok: true });
  });

  it('commitTurn alone takes a durable turn: once, the exact rows, anchors at their places', async () => {
    const session = await bench.session([{ text: 'first' }, { commentary: 'let me see', text: 'second' }]);
    const { engine, of, methods } = recordingEngine({
      info: DURABLE,
      commitTurn: () => ({ status: 'committed' }),
      afterTurn: () => {},
      ingestBatch: () => {},
    });
    await session.run({ prompt: 'one', attemptId: 'attempt-1' }, { engine });
    const { result } = await session.run({ prompt: 'two', attemptId: 'attempt-2' }, { engine });
    expect(methods()).toEqual(['assemble', 'commitTurn', 'assemble', 'commitTurn']);
    expect(result.finalization).toEqual({ method: 'commitTurn', ok: true });
    const { entries } = await session.store().transcript.read(new AbortController().signal);
    const anchor = (position: number) => ({
      entryId: entries[position]?.entryId,
      activeMessagePosition: position,
      agentId: 'main',
      sessionId: result.sessionId,
      sessionKey: result.sessionId,
      storePath: session.sessionFile,
      generation: result.sessionId,
      rawSeq: position,
      effectiveParentId: entries[position - 1]?.entryId ?? null,
    });
    expect(entries.map((entry) => textOf(entry.message))).toEqual([
      ['user', 'one'],
      ['assistant', 'first'],
      ['user', 'two'],
      ['assistant', 'let me see'],
      ['assistant', 'second'],
    ]);
    expect(of('commitTurn')[0]).toMatchObject({ advancementKey: 'codex-attempt:attempt-1', terminal: anchor(1) });
    expect(of('commitTurn')[1]).toMatchObject({
      advancementKey: 'codex-attempt:attempt-2',
      admission: { ...anchor(2), logicalTurnId: 'attempt-2', role: 'user' },
      terminal: anchor(4),
      messages: entries.slice(2).map((entry) => entry.message),
      isHeartbeat: false,
    });
    // Nothing is left to commit again.
    expect(await session.store().outbox.list()).toEqual([]);
  });

  it('a commit that failed is made up for before the next bootstrap, in order and with the same payload', async () => {
    const session = await bench.session();
    let down = true;
    const { engine, of, methods } = recordingEngine({
      info: DURABLE,
      bootstrap: () => done,
      commitTurn: () => {
        if (down) throw new Error('store is down');
        return { status: 'committed' };
      },
      maintain: () => {},
    });
    const one = await session.run({ prompt: 'one', attemptId: 'attempt-1' }, { engine });
    expect(one.result).toMatchObject({
      outcome: 'completed',
      finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'engine_failed' },
      maintenance: { ran: false, reason: 'not-finalized' },
    });
    down = false;
    await session.run({ prompt: 'two', attemptId: 'attempt-2' }, { engine });
    expect(methods()).toEqual([
      'assemble',
      'commitTurn',
      'commitTurn',
      'bootstrap',
      'maintain',
      'assemble',
      'commitTurn',
      'maintain',
    ]);
    const [first, again, second] = of('commitTurn').map(
      ({ runtimeContext: _c, runtimeSettings: _s, abortSignal: _a, ...payload }) => payload,
    );
    expect(again).toEqual(first);
    expect(second).toMatchObject({ advancementKey: 'codex-attempt:attempt-2' });
  });

  it('a queue that cannot be drained suspends the engine: the turn runs without it and queues behind', async () => {
    const session = await bench.session();
    const { engine, methods } = recordingEngine({
      info: DURABLE,
      bootstrap: () => done,
      commitTurn: () => {
        throw new Error('store is down');
      },
    });
    await session.run({ prompt: 'one', attemptId: 'attempt-1' }, { engine });
    const { result } = await session.run({ prompt: 'two', attemptId: 'attempt-2' }, { engine });
    expect(methods()).toEqual(['assemble', 'commitTurn', 'commitTurn']);
    expect(result).toMatchObject({
      outcome: 'completed',
      finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'engine_suspended' },
    });
    const queued = (await session.store().outbox.list()).map((record) => record.advancementKey);
    expect(queued).toEqual(['codex-attempt:attempt-1', 'codex-attempt:attempt-2']);
  });

  it.each<[string, EngineBehaviour, string]>([
    ['with every method', { afterTurn: () => {}, ingestBatch: () => {} }, 'afterTurn'],
    ['with batches', { ingestBatch: () => {} }, 'ingestBatch'],
    ['declared durable without commitTurn', { info: DURABLE, afterTurn: () => {} }, 'afterTurn'],
    ['with half the durable contract', { commitTurn: () => ({ status: 'committed' }) }, 'ingest'],
  ])('is exactly one for an engine %s', async (_, behaviour, method) => {
    const session = await bench.session();
    const { engine, methods } = recordingEngine(behaviour);
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result.finalization).toEqual({ method, ok: true });
    expect(new Set(methods().filter((name) => name !== 'assemble'))).toEqual(new Set([method]));
  });
});

describe('turn maintenance', () => {
  const maintained = { afterTurn: () => {}, maintain: () => {} };

  it('runs after a turn that went well', async () => {
    const session = await bench.session();
    const { engine, of } = recordingEngine(maintained);
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(of('maintain').map((params) => params['reason'])).toEqual(['turn']);
    expect(result.maintenance).toEqual({ ran: true, mode: 'foreground' });
    expect(result.states.slice(-3)).toEqual(['finalizing', 'maintaining', 'completed']);
  });

  it('does not run after a failed turn, which is finalized all the same', async () => {
    const session = await bench.session([{ error: { status: 400, code: 'invalid_prompt', message: 'no' } }]);
    const { engine, of, methods } = recordingEngine(maintained);
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({ outcome: 'failed', maintenance: { ran: false, reason: 'failed-turn' } });
    expect(methods()).toEqual(['assemble', 'afterTurn']);
    expect(of('afterTurn')[0]).toMatchObject({ runtimeContext: { turnOutcome: 'failed' } });
  });

  it('does not run after an abort', async () => {
    const session = await bench.session([{ text: 'a long answer', stall: 'mid' }]);
    const { engine, of, methods } = recordingEngine(maintained);
    const handle = session.start({ prompt: 'one' }, { engine });
    handle.onEvent((event) => {
      if (event.type === 'item.delta') handle.abort();
    });
    const result = await handle.result;
    expect(result).toMatchObject({ outcome: 'aborted', maintenance: { ran: false, reason: 'aborted' } });
    expect(methods()).toEqual(['assemble', 'afterTurn']);
    expect(of('afterTurn')[0]).toMatchObject({ runtimeContext: { turnOutcome: 'aborted' } });
  });

  it('does not run after a yield', async () => {
    const session = await bench.session([{ toolCalls: [{ name: 'wait_for_mail' }] }]);
    const tool: HostTool = {
      name: 'wait_for_mail',
      description: 'd',
      parameters: { type: 'object' },
      execute: () => ({ text: 'waiting', yield: true }),
    };
    const { engine, of, methods } = recordingEngine(maintained);
    const { result } = await session.run({ prompt: 'one' }, { engine, tools: [tool] });
    expect(result).toMatchObject({ outcome: 'yielded', maintenance: { ran: false, reason: 'yielded' } });
    expect(methods()).toEqual(['assemble', 'afterTurn']);
    expect(of('afterTurn')[0]).toMatchObject({ runtimeContext: { turnOutcome: 'yielded' } });
  });

  it('does not run when the finalizer failed; the answer stands', async () => {
    const session = await bench.session([{ text: 'first' }]);
    const { engine, methods } = recordingEngine({
      afterTurn: () => {
        throw new Error('disk full');
      },
      maintain: () => {},
    });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(result).toMatchObject({
      outcome: 'completed',
      text: 'first',
      finalization: { method: 'afterTurn', ok: false, reason: 'engine_failed' },
      maintenance: { ran: false, reason: 'not-finalized' },
    });
    expect(methods()).toEqual(['assemble', 'afterTurn']);
  });

  it('a durable engine hears nothing of a failed, aborted or yielded turn', async () => {
    const session = await bench.session([{ error: { status: 400, code: 'invalid_prompt', message: 'no' } }]);
    const { engine, methods } = recordingEngine({
      info: DURABLE,
      commitTurn: () => ({ status: 'committed' }),
      ...maintained,
    });
    const { result } = await session.run({ prompt: 'one' }, { engine });
    expect(methods()).toEqual(['assemble']);
    expect(result.finalization).toEqual({ method: 'none', ok: true, reason: 'not-accepted' });
    expect(await session.store().outbox.list()).toEqual([]);
  });

  it('in the background lets the attempt end, and the next bootstrap waits for it', async () => {
    const session = await bench.session();
    const order: string[] = [];
    let finish = () => {};
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { engine } = recordingEngine({
      info: { turnMaintenanceMode: 'background' },
      bootstrap: () => order.push('bootstrap'),
      afterTurn: () => {},
      maintain: async ({ reason }) => {
        order.push(`maintain ${reason} begins`);
        if (order.length === 1) await work;
        order.push(`maintain ${reason} ends`);
      },
    });
    const one = await session.run({ prompt: 'one' }, { engine });
    expect(one.result.maintenance).toEqual({ ran: true, mode: 'background' });
    expect(order).toEqual(['maintain turn begins']);
    const handle = session.start({ prompt: 'two' }, { engine });
    handle.onEvent((event) => {
      if (event.type !== 'attempt.state' || event.path !== 'bootstrap.draining') return;
      setImmediate(() => {
        order.push('released');
        finish();
      });
    });
    expect((await handle.result).outcome).toBe('completed');
    expect(order.slice(0, 6)).toEqual([
      'maintain turn begins',
      'released',
      'maintain turn ends',
      'bootstrap',
      'maintain bootstrap begins',
      'maintain bootstrap ends',
    ]);
  });
});
