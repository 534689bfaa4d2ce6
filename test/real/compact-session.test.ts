// Explicit compaction with the real app-server (spec 8): what Codex compacts, what it does not, and what is left of the
// thread for the next turn.
import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, expect, it } from 'vitest';
import type { AttemptServices } from '../../src/attempt/types.ts';
import { type CompactionHandle, type CompactSessionParams, compactSession } from '../../src/compact-session.ts';
import type { AssembleParams } from '../../src/engine/contract.ts';
import { HookRegistry } from '../../src/hooks/registry.ts';
import { redact } from '../../src/observe/redact.ts';
import { isCompactionRequest } from '../../src/rehearsal/request.ts';
import type { RehearsalScript } from '../../src/rehearsal/script.ts';
import { systemClock } from '../../src/system-clock.ts';
import { recordingEngine } from '../support/engines.ts';
import { conversationOf, textsOf } from '../support/model-requests.ts';
import { type RehearsedSession, rehearsedSession } from '../support/rehearsed.ts';
import { processesNaming } from '../wire/fakes/processes.ts';

let session: RehearsedSession;
afterEach(async () => {
  await session.close();
  expect(processesNaming(session.model.baseUrl)).toEqual([]);
});

const open = async (script?: RehearsalScript, configOverrides: Record<string, string> = {}): Promise<void> => {
  session = await rehearsedSession({
    streamMaxRetries: 0,
    requestMaxRetries: 0,
    configOverrides,
    ...(script === undefined ? {} : { script }),
  });
};

function compact(
  params: Partial<CompactSessionParams> = {},
  services: Partial<AttemptServices> = {},
): CompactionHandle {
  return compactSession(
    { cwd: session.folder, provider: 'rehearsal', realm: 'rehearsal', ...params },
    { appServer: session.appServer, session: session.store(), clock: systemClock, ...services },
  );
}

const boundThread = async () => (await session.store().bindings.read())?.threads[0];
const compactions = () => session.bodies().filter(isCompactionRequest);
/** Resolves once the offline model has got a compaction request. */
const asked = async (): Promise<void> => {
  while (compactions().length === 0) await new Promise((resolve) => setImmediate(resolve));
};

const owner = (behaviour: Parameters<typeof recordingEngine>[0] = {}) =>
  recordingEngine({
    info: { ownsCompaction: true },
    compact: () => ({ ok: true, compacted: true, result: { summary: 's', tokensBefore: 900, tokensAfter: 90 } }),
    ...behaviour,
  });

it('of a thread is one model request in a turn of its own, and the thread goes on without what was said', async () => {
  await open({ steps: [{ text: 'first answer' }, { text: 'second answer' }], compaction: { text: 'the summary' } });
  const { result: turn } = await session.run({ prompt: 'first', developerInstructions: 'be brief' });
  const result = await compact().result;
  expect(result).toEqual({
    type: 'compaction.settled',
    ok: true,
    compacted: true,
    primary: 'native',
    reason: null,
    tokensBefore: expect.any(Number),
    tokensAfter: expect.any(Number),
    details: {
      codexNativeCompaction: {
        backend: 'codex-app-server',
        ok: true,
        compacted: true,
        threadId: turn.threadId,
        turnId: expect.any(String),
        itemId: expect.any(String),
        tokensAfter: result.tokensAfter,
      },
    },
    attemptId: expect.any(String),
    outcome: 'completed',
    sessionFile: session.sessionFile,
    sessionId: turn.sessionId,
    degraded: [],
  });
  expect(result.details.codexNativeCompaction?.turnId).not.toBe(turn.turnId);
  expect(compactions()).toHaveLength(1);
  expect(await boundThread()).toMatchObject({ threadId: turn.threadId, instructionsHash: null });
  expect(await boundThread()).not.toHaveProperty('context');

  const { result: next } = await session.run({ prompt: 'second', developerInstructions: 'be brief' });
  expect(next.threadId).toBe(turn.threadId);
  // The native thread was given its instructions again: Codex dropped what was injected.
  const [, ...sent] = conversationOf(session.lastBody());
  expect(JSON.stringify(sent)).toContain('the summary');
  expect(JSON.stringify(sent)).not.toContain('first answer');
  expect(textsOf(session.lastBody(), 'developer').some((text) => text.includes('be brief'))).toBe(true);
  // The session has both turns; a compaction has no row.
  expect((await session.rows()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
});

it('of an engine that owns compaction comes first and is the result; the native one is told apart', async () => {
  await open();
  const { result: turn } = await session.run({ prompt: 'first' });
  const { engine, methods, of } = owner({ maintain: () => {} });
  const result = await compact({ customInstructions: 'keep the plan', tokenBudget: 777 }, { engine }).result;
  expect(result).toMatchObject({
    ok: true,
    compacted: true,
    primary: 'engine',
    reason: null,
    tokensBefore: 900,
    tokensAfter: 90,
    result: { summary: 's' },
    details: {
      contextEngineCompaction: { ok: true, compacted: true },
      contextEngineMaintenance: { ok: true },
      codexNativeCompaction: { ok: true, compacted: true, threadId: turn.threadId },
    },
  });
  expect(methods()).toEqual(['maintain', 'compact', 'maintain']);
  expect(of('maintain').map(({ reason }) => reason)).toEqual(['bootstrap', 'compaction']);
  expect(of('compact')).toMatchObject([
    {
      force: true,
      compactionTarget: 'threshold',
      tokenBudget: 777,
      currentTokenCount: expect.any(Number),
      customInstructions: 'keep the plan',
      runtimeContext: { manualCompaction: true, currentTokenCount: expect.any(Number) },
      runtimeSettings: { executionHost: { id: 'codex-app-server' } },
      abortSignal: expect.any(AbortSignal),
    },
  ]);
  expect(compactions()).toHaveLength(1);
});

it('of an engine that fails is a failure, although the native thread was compacted', async () => {
  await open();
  await session.run({ prompt: 'first' });
  const { engine } = owner({
    compact: () => {
      throw new Error('no room on disk');
    },
  });
  expect(await compact({}, { engine }).result).toMatchObject({
    ok: false,
    compacted: true,
    primary: 'engine',
    outcome: 'failed',
    reason: expect.stringMatching(/^context engine compaction failed: .*no room on disk/),
    details: {
      contextEngineCompaction: { ok: false, compacted: false },
      codexNativeCompaction: { ok: true, compacted: true },
    },
    error: { code: 'engine_failed' },
  });
});

it('of an engine that hangs ends with its budget, and the native one still runs', async () => {
  await open();
  await session.run({ prompt: 'first' });
  const { engine } = owner({ compact: () => new Promise(() => {}) });
  expect(await compact({ budgets: { compact: 3_000 } }, { engine }).result).toMatchObject({
    ok: false,
    outcome: 'failed',
    reason: 'context engine compaction failed: it took longer than 3000 ms (budgets.compact)',
    details: { codexNativeCompaction: { ok: true, compacted: true } },
    error: { code: 'budget_compact' },
  });
});

it('that the model refuses fails with its reason and leaves the thread as it was', async () => {
  await open({
    steps: [{ text: 'one' }, { text: 'two' }],
    compaction: { error: { status: 500, code: 'server_error', message: 'out of order' } },
  });
  const { result: turn } = await session.run({ prompt: 'first' });
  const before = await boundThread();
  expect(await compact().result).toMatchObject({
    ok: false,
    compacted: false,
    outcome: 'failed',
    reason: 'model_failed',
    details: { codexNativeCompaction: { threadId: turn.threadId, turnId: expect.any(String) } },
    error: { code: 'http_failed' },
  });
  expect(await boundThread()).toEqual(before);
  const { result: next } = await session.run({ prompt: 'second' });
  expect(next).toMatchObject({ outcome: 'completed', threadId: turn.threadId });
  expect(JSON.stringify(session.lastBody().input)).toContain('one');
});

it('that the model refuses does not cost the result of an engine', async () => {
  await open({ steps: [{ text: 'one' }], compaction: { error: { status: 500 } } });
  await session.run({ prompt: 'first' });
  expect(await compact({}, { engine: owner().engine }).result).toMatchObject({
    ok: true,
    compacted: true,
    primary: 'engine',
    outcome: 'completed',
    details: { codexNativeCompaction: { ok: false, compacted: false, reason: 'model_failed' } },
  });
});

it('that is aborted is interrupted, and the process and the thread stay good', async () => {
  await open({ steps: [{ text: 'one' }, { text: 'two' }], compaction: { stall: 'headers' } });
  const { result: turn } = await session.run({ prompt: 'first' });
  const handle = compact();
  await asked();
  handle.abort();
  expect(await handle.result).toMatchObject({
    ok: false,
    outcome: 'aborted',
    reason: 'aborted',
    details: { codexNativeCompaction: { ok: false, reason: 'aborted', threadId: turn.threadId } },
  });
  const [pid] = processesNaming(session.model.baseUrl);
  const { result: next } = await session.run({ prompt: 'second' });
  expect(next).toMatchObject({ outcome: 'completed', threadId: turn.threadId });
  expect(processesNaming(session.model.baseUrl)).toEqual([pid]);
});

it('that takes too long is interrupted, and the error names the budget', async () => {
  await open({ steps: [{ text: 'one' }], compaction: { stall: 'mid' } });
  await session.run({ prompt: 'first' });
  expect(await compact({ budgets: { compact: 1_000 } }).result).toMatchObject({
    ok: false,
    outcome: 'failed',
    reason: 'timed_out',
    error: { code: 'budget_compact', message: expect.stringContaining('budgets.compact') },
  });
});

it('while a turn runs is refused at once, and the turn is not disturbed', async () => {
  await open({ steps: [{ text: 'one' }, { text: 'two', delayMs: 200, deltas: 4 }] });
  await session.run({ prompt: 'first' });
  const running = session.start({ prompt: 'second' });
  const begun = new Promise<void>((resolve) => {
    running.onEvent(({ type }) => type === 'turn.started' && resolve());
  });
  await begun;
  expect(await compact().result).toMatchObject({
    ok: false,
    compacted: false,
    outcome: 'failed',
    error: { code: 'session_busy' },
    details: { codexNativeCompaction: { reason: 'not_attempted' } },
  });
  expect(await running.result).toMatchObject({ outcome: 'completed', text: 'two' });
  expect(compactions()).toEqual([]);
});

it('without a bound thread has nothing to compact, and starts no process', async () => {
  await open();
  expect(await compact().result).toMatchObject({
    ok: false,
    reason: 'no_thread_binding',
    outcome: 'failed',
    error: { code: 'thread_missing' },
  });
  expect(await compact({}, { engine: owner().engine }).result).toMatchObject({
    ok: true,
    primary: 'engine',
    details: { codexNativeCompaction: { ok: false, compacted: false, reason: 'no_thread_binding' } },
  });
  expect(processesNaming(session.model.baseUrl)).toEqual([]);
});

it('of a thread that is gone says so, and keeps the binding', async () => {
  await open();
  await session.run({ prompt: 'first' });
  const store = session.store();
  const bound = await store.bindings.read();
  const gone = '0199d0f5-0000-7000-8000-000000000000';
  const stale = {
    version: 1 as const,
    realm: 'rehearsal',
    ...bound,
    threads: [{ ...(await boundThread()), threadId: gone }],
  };
  await writeFile(
    `${session.sessionFile}.attempt/rehearsal/binding.json`,
    JSON.stringify({
      ...JSON.parse(await readFile(`${session.sessionFile}.attempt/rehearsal/binding.json`, 'utf8')),
      threads: stale.threads,
    }),
  );
  expect(await compact().result).toMatchObject({
    ok: false,
    reason: 'stale_thread_binding',
    details: { codexNativeCompaction: { threadId: gone } },
    error: { code: 'thread_stale' },
  });
  expect((await boundThread())?.threadId).toBe(gone);
});

it('whose process is killed fails, and the next use starts a fresh one', async () => {
  await open({ steps: [{ text: 'one' }, { text: 'two' }], compaction: { stall: 'first' } });
  const { result: turn } = await session.run({ prompt: 'first' });
  const handle = compact();
  await asked();
  for (const pid of processesNaming(session.model.baseUrl)) process.kill(pid, 'SIGKILL');
  expect(await handle.result).toMatchObject({
    ok: false,
    outcome: 'failed',
    reason: 'app_server_exited',
    error: { code: 'app_server_exited' },
  });
  const { result: next } = await session.run({ prompt: 'second' });
  expect(next).toMatchObject({ outcome: 'completed', threadId: turn.threadId, text: 'two' });
});

it('takes the context of an engine that projects once out of the thread: the next turn gets it on a fresh one', async () => {
  await open({ steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] });
  const { engine } = recordingEngine({
    assemble: ({ messages }: AssembleParams) => ({
      messages: [{ role: 'user', content: 'THE CONTEXT', timestamp: 1 }, ...messages],
      contextProjection: { mode: 'thread_bootstrap', epoch: 'e1' },
    }),
  });
  const threads: (string | null)[] = [];
  const turn = async (prompt: string): Promise<string> => {
    threads.push((await session.run({ prompt }, { engine })).result.threadId);
    return textsOf(session.lastBody(), 'user').at(-1) ?? '';
  };
  expect(await turn('first')).toContain('THE CONTEXT');
  expect(await turn('second')).not.toContain('THE CONTEXT');
  expect(await compact({}, { engine }).result).toMatchObject({ ok: true, primary: 'native' });
  expect(await boundThread()).toMatchObject({ epoch: 'e1', contextLost: true });
  expect(await turn('third')).toContain('THE CONTEXT');
  const [first, second, third] = threads;
  expect(second).toBe(first);
  expect(third).not.toBe(first);
  expect(await boundThread()).not.toHaveProperty('contextLost');
});

it('by Codex inside a turn is told as native, once, with both hooks, and is no compaction of the engine', async () => {
  const filled = { text: 'one', usage: { inputTokens: 50_000, outputTokens: 10 } };
  await open({ steps: [filled, { text: 'two' }] }, { model_auto_compact_token_limit: '20000' });
  const { engine, of } = owner();
  const { result: turn } = await session.run({ prompt: 'first', developerInstructions: 'be brief' }, { engine });
  const told: unknown[] = [];
  const hooks = new HookRegistry(redact);
  for (const name of ['before_compaction', 'after_compaction']) {
    hooks.register(name, (event) => void told.push([name, event]), { source: 'test' });
  }
  const { result, events } = await session.run({ prompt: 'second' }, { engine, hooks });
  expect(result).toMatchObject({ outcome: 'completed', threadId: turn.threadId, degraded: [] });
  expect(compactions()).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'attempt.compaction')).toEqual([
    { type: 'attempt.compaction', phase: 'start', backend: 'codex-app-server', ownsCompaction: true },
    { type: 'attempt.compaction', phase: 'end', backend: 'codex-app-server', ownsCompaction: true, completed: true },
  ]);
  expect(told).toMatchObject([
    ['before_compaction', { backend: 'codex-app-server', messageCount: 2 }],
    ['after_compaction', { backend: 'codex-app-server', messageCount: 2, compactedCount: -1 }],
  ]);
  expect(of('compact')).toEqual([]);
  expect(await boundThread()).toMatchObject({ threadId: turn.threadId, instructionsHash: null });
});
