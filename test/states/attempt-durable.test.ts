import { describe, expect, it } from 'vitest';
import type { OutboxRecord } from '../../src/ports.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, fail, hang, pass } from '../../src/testing/controlled/script.ts';
import { type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import { SESSION_FILE, SESSION_ID } from '../../src/testing/controlled/session.ts';

/** A durable engine in whole attempts (spec 7). */

const HISTORY = [userRow('before'), assistantRow('then')];
const ENGINE = { info: DURABLE_INFO, methods: DURABLE_METHODS };
const PARAMS = { attemptId: 'attempt-1', sessionKey: 'agent:main:main' };
const TARGET = { agentId: 'main', sessionId: SESSION_ID, sessionKey: 'agent:main:main', storePath: SESSION_FILE };

const controlledDurable = (setup: ControlledSetup = {}) =>
  controlledServices({ history: HISTORY, engine: ENGINE, ...setup });

const queued = (key: string, engineId = 'controlled'): OutboxRecord => ({
  advancementKey: key,
  engineId,
  payload: { advancementKey: key, messages: [userRow(key)] },
});

const keysOf = (params: unknown[]): unknown[] =>
  params.map((one) => (one as { advancementKey: string }).advancementKey);

describe('the commit of an accepted turn', () => {
  it('holds the anchors and exactly the rows from the admitted user row to the terminal one', async () => {
    const controlled = controlledDurable({
      codex: {
        turns: [(turn) => turn.started().message('on it', 'commentary').command('ls', 'a').message('done').completed()],
      },
    });
    const result = await controlled.run(PARAMS);
    expect(result.finalization).toEqual({ method: 'commitTurn', ok: true });
    const rows = controlled.session.messages().slice(2);
    expect(rows.map((row) => row.role)).toEqual(['user', 'assistant', 'assistant', 'toolResult', 'assistant']);
    const anchor = (entryId: string, position: number, parent: string) => ({
      ...TARGET,
      entryId,
      activeMessagePosition: position,
      generation: SESSION_ID,
      rawSeq: position,
      effectiveParentId: parent,
    });
    const [commit] = controlled.script.of('engine.commitTurn') as Record<string, unknown>[];
    expect(commit).toStrictEqual({
      advancementKey: 'codex-attempt:attempt-1',
      admission: { ...anchor('entry-2', 2, 'entry-1'), logicalTurnId: 'attempt-1', role: 'user' },
      terminal: anchor('entry-6', 6, 'entry-5'),
      messages: rows,
      sessionId: SESSION_ID,
      sessionKey: 'agent:main:main',
      isHeartbeat: false,
      sessionTarget: TARGET,
      runtimeContext: expect.objectContaining({ turnOutcome: 'completed' }),
      runtimeSettings: expect.anything(),
      abortSignal: expect.any(AbortSignal),
    });
    expect(controlled.script.of('engine.afterTurn')).toEqual([]);
    expect(controlled.session.state.outbox).toEqual([]);
  });

  it('the engine never sees the current turn before it is committed', async () => {
    const controlled = controlledDurable();
    await controlled.run(PARAMS);
    await controlled.run({ ...PARAMS, attemptId: 'attempt-2' });
    const assembled = controlled.script.of('engine.assemble') as { messages: object[] }[];
    expect(assembled.map((call) => call.messages.length)).toEqual([2, 4]);
  });

  it.each([
    ['failed', (turn) => turn.started().message('half', 'commentary').failed('broken')],
    ['yielded', async (turn) => void (await turn.started().tool('pause', {}))],
  ] satisfies [string, NonNullable<NonNullable<ControlledSetup['codex']>['turns']>[number]][])(
    'a %s turn does not advance it',
    async (outcome, play) => {
      const controlled = controlledDurable({
        tools: ['pause'],
        toolResults: { pause: { text: '', yield: true } },
        codex: { turns: [play] },
      });
      expect(await controlled.run(PARAMS)).toMatchObject({
        outcome,
        finalization: { method: 'none', ok: true, reason: 'not-accepted' },
      });
      expect(controlled.script.of('outbox.add')).toEqual([]);
      expect(controlled.script.of('engine.commitTurn')).toEqual([]);
    },
  );

  it('a turn whose rows are not on disk is not committed', async () => {
    const controlled = controlledDurable({ plan: { 'transcript.append': fail('full') } });
    expect(await controlled.run(PARAMS)).toMatchObject({
      outcome: 'completed',
      finalization: { method: 'commitTurn', ok: false, reason: 'finalize_failed' },
      maintenance: { ran: false, reason: 'not-finalized' },
    });
    expect(controlled.script.of('engine.commitTurn')).toEqual([]);
  });
});

describe('a commit that failed', () => {
  it.each([
    ['fails', fail('no')],
    ['answers garbage', answer({ status: 'maybe' })],
  ] as const)(
    'because the engine %s: queued, and drained by the next attempt before it bootstraps, with the same bytes',
    async (_name, does) => {
      const controlled = controlledDurable({ plan: { 'engine.commitTurn': [does, pass] } });
      const first = await controlled.run(PARAMS);
      expect(first.finalization).toMatchObject({ method: 'commitTurn', ok: false, queued: true });
      expect(keysOf(controlled.session.state.outbox)).toEqual(['codex-attempt:attempt-1']);

      const at = controlled.script.names().length;
      const second = await controlled.run({ ...PARAMS, attemptId: 'attempt-2' });
      expect(second).toMatchObject({ degraded: [], finalization: { method: 'commitTurn', ok: true } });
      expect(
        controlled.script
          .names()
          .slice(at)
          .filter((name) => /^(?:engine|outbox)\./.test(name)),
      ).toEqual([
        'outbox.list',
        'engine.commitTurn',
        'outbox.remove',
        'engine.bootstrap',
        'engine.maintain',
        'engine.assemble',
        'outbox.add',
        'outbox.list',
        'engine.commitTurn',
        'outbox.remove',
        'engine.maintain',
      ]);
      const frozen = (params: unknown) => {
        const {
          runtimeContext: _c,
          runtimeSettings: _s,
          abortSignal: _a,
          ...payload
        } = params as Record<string, unknown>;
        return JSON.stringify(payload);
      };
      const commits = controlled.script.of('engine.commitTurn');
      expect(frozen(commits[1])).toBe(frozen(commits[0]));
      expect(controlled.session.state.outbox).toEqual([]);
    },
  );

  it('because it hangs: queued', async () => {
    const controlled = controlledDurable({ plan: { 'engine.commitTurn': hang } });
    const run = controlled.start(PARAMS);
    await run.entered('finalizing');
    await controlled.clock.advance(60_000);
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'budget_finalize' },
    });
    expect(keysOf(controlled.session.state.outbox)).toEqual(['codex-attempt:attempt-1']);
  });

  it('because the outbox cannot be written: not queued', async () => {
    const controlled = controlledDurable({ plan: { 'outbox.add': fail('full') } });
    expect((await controlled.run(PARAMS)).finalization).toEqual({
      method: 'commitTurn',
      ok: false,
      reason: 'finalize_failed',
    });
  });
});

describe('draining', () => {
  it('goes in order, and turns of another engine stay', async () => {
    const controlled = controlledDurable({ outbox: [queued('a'), queued('x', 'other'), queued('b')] });
    await controlled.run(PARAMS);
    expect(keysOf(controlled.script.of('engine.commitTurn'))).toEqual(['a', 'b', 'codex-attempt:attempt-1']);
    expect(keysOf(controlled.session.state.outbox)).toEqual(['x']);
  });

  it('that fails suspends the engine for this attempt: nothing but the queue, continuity from the mirror', async () => {
    const controlled = controlledDurable({
      outbox: [queued('a'), queued('b')],
      plan: { 'engine.commitTurn': fail('no') },
    });
    const result = await controlled.run(PARAMS);
    expect(result).toMatchObject({
      outcome: 'completed',
      degraded: [
        { state: 'bootstrap.draining', code: 'engine_failed' },
        { state: 'finalizing', code: 'engine_suspended' },
      ],
      finalization: { method: 'commitTurn', ok: false, queued: true, reason: 'engine_suspended' },
      maintenance: { ran: false },
    });
    expect(controlled.script.names().filter((name) => name.startsWith('engine.'))).toEqual(['engine.commitTurn']);
    expect(keysOf(controlled.session.state.outbox)).toEqual(['a', 'b', 'codex-attempt:attempt-1']);
    const [turn] = controlled.script.of('codex.turn/start') as { input: { text: string }[] }[];
    expect(turn?.input[0]?.text).toContain('[user]\nbefore\n\n[assistant]\nthen');
  });

  it('an attempt that suspended the engine is followed by one that takes everything, in order', async () => {
    const controlled = controlledDurable({ outbox: [queued('a')], plan: { 'engine.commitTurn': [fail('no'), pass] } });
    await controlled.run(PARAMS);
    await controlled.run({ ...PARAMS, attemptId: 'attempt-2' });
    expect(keysOf(controlled.script.of('engine.commitTurn')).slice(1)).toEqual([
      'a',
      'codex-attempt:attempt-1',
      'codex-attempt:attempt-2',
    ]);
    expect(controlled.session.state.outbox).toEqual([]);
  });
});

describe('a turn that was accepted when the process died', () => {
  const OWN = 'codex-app-server:thread-9:turn-9';
  const promptRow = {
    idempotencyKey: 'codex-attempt:crashed:prompt',
    message: userRow('lost', 'codex-attempt:crashed:prompt'),
  };
  const history = [promptRow.message, { ...assistantRow('answered'), idempotencyKey: `${OWN}:item:assistant` }];
  const intent = {
    version: 1,
    attemptId: 'crashed',
    threadId: 'thread-9',
    turnId: 'turn-9',
    promptRow,
    realm: 'live',
  } as const;
  const crashed = (accepted?: { engineId: string; isHeartbeat: boolean }) =>
    controlledDurable({ history, intent: accepted === undefined ? intent : { ...intent, accepted } });

  it('is committed before the engine bootstraps', async () => {
    const controlled = crashed({ engineId: 'controlled', isHeartbeat: true });
    const result = await controlled.run(PARAMS);
    expect(result).toMatchObject({ outcome: 'completed', degraded: [] });
    const commits = controlled.script.of('engine.commitTurn') as Record<string, unknown>[];
    expect(keysOf(commits)).toEqual(['codex-attempt:crashed', 'codex-attempt:attempt-1']);
    expect(commits[0]).toMatchObject({
      messages: history,
      isHeartbeat: true,
      admission: { activeMessagePosition: 0, logicalTurnId: 'crashed' },
      terminal: { activeMessagePosition: 1 },
    });
    const calls = controlled.script.names().filter((name) => name.startsWith('engine.'));
    expect(calls.slice(0, 2)).toEqual(['engine.commitTurn', 'engine.bootstrap']);
  });

  it('is not, when it was not accepted or was meant for another engine', async () => {
    for (const accepted of [undefined, { engineId: 'another', isHeartbeat: false }]) {
      const controlled = crashed(accepted);
      await controlled.run(PARAMS);
      expect(keysOf(controlled.script.of('engine.commitTurn'))).toEqual(['codex-attempt:attempt-1']);
    }
  });

  it('keeps its rows and its commit when the journal hangs before them', async () => {
    const controlled = controlledDurable({ plan: { 'journal.write': [pass, pass, hang] } });
    const run = controlled.start(PARAMS);
    await run.entered('mirroring');
    await controlled.clock.advance(7_500);
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      finalization: { method: 'commitTurn', ok: true },
      degraded: [{ state: 'mirroring', code: 'session_write_failed' }],
    });
    expect(controlled.session.messages().map((row) => row.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  it('is owed its commit before its rows are written, and only if it completed', async () => {
    const owed = async (status: 'completed' | 'failed') => {
      const controlled = controlledDurable({
        codex: {
          turns: [
            (turn) => (status === 'completed' ? turn.started().message('x').completed() : turn.started().failed('no')),
          ],
        },
      });
      await controlled.run(PARAMS);
      const intents = controlled.script.of('journal.write') as { accepted?: unknown }[];
      const names = controlled.script.names();
      return {
        accepted: intents.map((one) => one.accepted),
        order: names.lastIndexOf('journal.write') < names.lastIndexOf('transcript.append'),
      };
    };
    expect(await owed('completed')).toEqual({
      accepted: [undefined, undefined, { engineId: 'controlled', isHeartbeat: false }],
      order: true,
    });
    expect((await owed('failed')).accepted).toEqual([undefined, undefined]);
  });
});
