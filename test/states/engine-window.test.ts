import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AssembleResult,
  COMPLETION_CAPABILITY,
  type CommitTurnParams,
  type ContextEngine,
  type SessionTarget,
} from '../../src/engine/contract.ts';
import { loadEngine } from '../../src/engine/load.ts';
import { hostCapabilities, resolveEngineRequirements } from '../../src/engine/requirements.ts';
import { checkAssembleResult } from '../../src/engine/result-checks.ts';
import { setTranscriptReader } from '../../src/engine/sdk-bridge/index.ts';
import { estimateTokens } from '../../src/engine/tokens.ts';
import { createWindowEngine } from '../../src/engine/window.ts';
import type { WindowEngineConfig } from '../../src/engine/window-config.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';
import { assistant, RUNTIME_CONTEXT, recordingLogger, toolResult, user } from './engine-fixtures.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'engine-window-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A session as the host has it: `transcript` is the visible branch. */
function host(config: WindowEngineConfig = {}, sessionId = 'session-1') {
  const transcript: AgentMessage[] = [];
  const target: SessionTarget = { agentId: 'main', sessionId, sessionKey: 'key', storePath: join(folder, 'S') };
  const base = { sessionId, sessionKey: 'key', sessionTarget: target };
  const visible = { limit: Number.POSITIVE_INFINITY };
  /** A fresh engine each time: nothing may live in memory. */
  const engine = (): ReturnType<typeof createWindowEngine> =>
    createWindowEngine(config, async () => transcript.slice(0, visible.limit));
  const context = (tokenBudget: number) => ({ ...RUNTIME_CONTEXT, sessionTarget: target, tokenBudget });
  const commitParams = (number: number, rows: AgentMessage[], first: number): CommitTurnParams => {
    const anchor = (entryId: string, activeMessagePosition: number) => ({
      ...{ agentId: 'main', sessionId, sessionKey: 'key', storePath: target.storePath, generation: 'g' },
      ...{ entryId, activeMessagePosition, rawSeq: activeMessagePosition, effectiveParentId: null },
    });
    return {
      ...base,
      advancementKey: `attempt-${number}`,
      admission: { ...anchor(`u${number}`, first), logicalTurnId: `attempt-${number}`, role: 'user' },
      terminal: anchor(`t${number}`, first + rows.length - 1),
      messages: rows,
    };
  };
  return {
    transcript,
    visible,
    base,
    engine,
    context,
    commitParams,
    bootstrap: (tokenBudget = 1000) => engine().bootstrap?.({ ...base, runtimeContext: context(tokenBudget) }),
    assemble: async (tokenBudget = 1000, messages = transcript): Promise<AssembleResult> =>
      engine().assemble({
        ...base,
        messages: structuredClone(messages),
        tokenBudget,
        availableTools: new Set(),
        model: 'm',
        prompt: 'p',
      }),
    /** Writes a turn to the transcript and commits it. */
    turn: async (number: number, rows: AgentMessage[], tokenBudget = 1000) => {
      const params = commitParams(number, rows, transcript.length);
      transcript.push(...rows);
      return engine().commitTurn?.({ ...params, runtimeContext: context(tokenBudget) });
    },
    state: async (): Promise<Record<string, unknown>> =>
      JSON.parse(await readFile(join(folder, 'S.engine.json'), 'utf8')) as Record<string, unknown>,
  };
}

const talk = (number: number, size = 200): AgentMessage[] => [
  user(`question ${number} ${'q'.repeat(size)}`),
  assistant(`answer ${number} ${'a'.repeat(size)}`),
];

async function grown(
  config: WindowEngineConfig = {},
  turns = 20,
  tokenBudget = 1000,
): Promise<ReturnType<typeof host>> {
  const session = host(config);
  for (let number = 0; number < turns; number += 1) {
    if (number > 0) await session.bootstrap(tokenBudget);
    await session.turn(number, talk(number), tokenBudget);
  }
  return session;
}

const digestOf = (result: AssembleResult): string => String(result.messages[0]?.content);

describe('the window', () => {
  test('a session that fits is shown whole', async () => {
    const session = await grown({}, 2);
    expect(await session.assemble()).toEqual({
      messages: session.transcript,
      estimatedTokens: estimateTokens(session.transcript),
      systemPromptAddition:
        'The conversation before this turn is kept by a sliding window. Nothing has fallen out of it so far.',
    });
  });

  test('an empty session is an empty window', async () => {
    expect((await host().assemble()).messages).toEqual([]);
  });

  test('what does not fit stands in the digest, the newest stays whole', async () => {
    const session = await grown();
    const result = await session.assemble();
    const shown = result.messages.slice(1);
    const fallen = session.transcript.length - shown.length;
    expect(shown).toEqual(session.transcript.slice(fallen));
    expect(shown.length).toBeGreaterThan(2);
    const lines = digestOf(result).split('\n');
    expect(lines[0]).toBe(`[Digest of ${fallen} earlier messages, oldest first]`);
    expect(lines.at(-2)).toBe(`${`- user: question ${fallen / 2 - 1} ${'q'.repeat(200)}`.slice(0, 160)}…`);
    expect(result.systemPromptAddition).toContain(`a digest of ${fallen} earlier messages`);
    // The words of the conversation have no part in the instructions.
    expect(result.systemPromptAddition).not.toContain('question');
  });

  test.each([0, 1, 10, 60, 100, 250, 600, 1000, 5000, 100_000])('a budget of %s is kept', async (budget) => {
    const session = await grown();
    const result = await session.assemble(budget);
    expect(estimateTokens(result.messages)).toBeLessThanOrEqual(budget);
    expect(result.estimatedTokens).toBe(estimateTokens(result.messages));
  });

  test('a smaller window can be configured', async () => {
    const session = await grown({ windowTokens: 300 });
    expect((await session.assemble(100_000)).estimatedTokens).toBeLessThanOrEqual(300);
  });

  test('equal history, state and budget give equal bytes, in any process', async () => {
    const session = await grown();
    const [first, second] = [await session.assemble(), await session.assemble()];
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    // A second machine that saw the same conversation.
    const other = await grown();
    expect(JSON.stringify(await other.assemble())).toBe(JSON.stringify(first));
  });

  test('usage does not reach the model (BL-17)', async () => {
    const session = await grown();
    const ask = (currentTokenCount: number): unknown =>
      session.engine().assemble({
        ...session.base,
        messages: session.transcript,
        tokenBudget: 1000,
        availableTools: new Set(),
        model: 'm',
        runtimeContext: { ...session.context(1000), currentTokenCount },
      });
    expect(await ask(93_000)).toEqual(await ask(5));
  });

  test('assemble writes nothing', async () => {
    const session = await grown();
    const before = await stat(join(folder, 'S.engine.json'));
    await session.assemble(100);
    await session.assemble(100_000);
    const after = await stat(join(folder, 'S.engine.json'));
    expect([after.mtimeMs, after.ino]).toEqual([before.mtimeMs, before.ino]);
    expect(await readdir(folder)).toEqual(['S.engine.json']);
  });

  test('what stands before the newest turn moves seldom: the window rolls in steps', async () => {
    const session = host();
    const heads: string[] = [];
    for (let number = 0; number < 40; number += 1) {
      await session.bootstrap();
      heads.push(JSON.stringify((await session.assemble()).messages[0] ?? null));
      await session.turn(number, talk(number));
    }
    const changes = heads.filter((head, index) => index > 0 && head !== heads[index - 1]).length;
    expect(changes).toBeGreaterThan(2);
    expect(changes).toBeLessThan(14);
  });

  test.each([200, 300, 400, 500, 700, 900])('tool results keep their calls (budget %s)', async (budget) => {
    const session = host();
    for (let number = 0; number < 12; number += 1) {
      const [ask, ...rest] = talk(number, 60);
      const ids = [`a${number}`, `b${number}`];
      const calls = [assistant('', ids), ...ids.map((id) => toolResult(id, 'r'.repeat(80)))];
      await session.bootstrap(budget);
      await session.turn(number, [ask ?? user(''), ...calls, ...rest], budget);
    }
    const warnings: string[] = [];
    const result = await session.assemble(budget);
    checkAssembleResult(result, 'window', (message) => warnings.push(message));
    expect(warnings).toEqual([]);
    expect(result.messages.some((message) => message.role === 'toolResult')).toBe(budget > 200);
    expect(digestOf(result)).toContain('(called exec) (called exec)');
    expect(digestOf(result)).not.toContain('rrr');
  });

  test('the digest is bounded and says what it let go', async () => {
    const session = await grown({ digestChars: 500 }, 60);
    const [head, omitted, ...lines] = digestOf(await session.assemble()).split('\n');
    const count = Number(/^\[Digest of (\d+) /.exec(head ?? '')?.[1]);
    expect(omitted).toBe(`(${count - lines.length} older lines left out)`);
    expect(lines.join('\n').length).toBeLessThanOrEqual(500);
  });

  test('a line is never cut inside a surrogate pair', async () => {
    for (let pad = 140; pad < 160; pad += 1) {
      const session = host({ stateDir: join(folder, String(pad)) });
      await session.turn(0, [user('x'.repeat(pad) + '😀'.repeat(300)), assistant('ok')], 180);
      const text = digestOf(await session.assemble(100_000));
      expect(text).toContain('- user: xxx');
      expect(Buffer.from(text).toString()).toBe(text);
    }
  });
});

describe('thread_bootstrap', () => {
  test('the epoch stays while the digest does and changes when it does', async () => {
    const session = host({ mode: 'thread_bootstrap' });
    const seen: { epoch: string; digest: string }[] = [];
    for (let number = 0; number < 30; number += 1) {
      await session.bootstrap();
      const result = await session.assemble();
      const digest = result.messages[0]?.timestamp === 0 ? digestOf(result) : '';
      seen.push({ epoch: result.contextProjection?.epoch ?? '', digest });
      await session.turn(number, talk(number));
    }
    expect(new Set(seen.map(({ epoch }) => epoch)).size).toBeGreaterThan(2);
    for (const [index, { epoch, digest }] of seen.entries()) {
      const before = seen[index - 1];
      expect(epoch).toMatch(/^digest-v1:[0-9a-f]{32}$/);
      if (before !== undefined) expect(epoch === before.epoch).toBe(digest === before.digest);
    }
  });

  test('per_turn, the default, makes no statement', async () => {
    expect(await (await grown()).assemble()).not.toHaveProperty('contextProjection');
  });
});

describe('bootstrap', () => {
  test('takes in a session that the engine has never seen', async () => {
    const session = host();
    for (let number = 0; number < 20; number += 1) session.transcript.push(...talk(number));
    expect(await session.bootstrap()).toEqual({ bootstrapped: true, importedMessages: 40 });
    expect(await session.bootstrap()).toEqual({ bootstrapped: true, importedMessages: 0 });
    const state = await session.state();
    await session.assemble();
    expect(await session.state()).toEqual(state);
    expect(Number(state['digestedTo'])).toBeGreaterThan(0);
  });

  test('rows of a failed turn, which was never committed, come in from the transcript', async () => {
    const session = await grown({}, 1);
    session.transcript.push(user('failed question'), { ...assistant('half an'), stopReason: 'aborted' });
    await session.bootstrap();
    await session.turn(1, talk(1));
    await session.bootstrap();
    expect((await session.assemble(100_000)).messages).toEqual(session.transcript);
  });

  test('a turn that was imported and is committed late is stored once', async () => {
    const session = host();
    const rows = talk(0);
    session.transcript.push(...rows);
    await session.bootstrap();
    expect(await session.engine().commitTurn?.(session.commitParams(0, rows, 0))).toEqual({ status: 'committed' });
    expect((await session.state())['rows']).toEqual(rows.map((message, position) => ({ position, message })));
  });

  test('a rewritten transcript replaces what was stored; a shorter one starts over', async () => {
    const session = await grown();
    session.transcript.splice(39, 1, assistant('rewritten'));
    await session.bootstrap();
    expect((await session.assemble()).messages.at(-1)).toEqual(assistant('rewritten'));
    session.transcript.splice(2);
    await session.bootstrap();
    expect((await session.assemble()).messages).toEqual(session.transcript);
  });

  test('another session at the same place does not see this one', async () => {
    await grown();
    const other = host({}, 'session-2');
    expect(await other.assemble()).toMatchObject({ messages: [] });
    // As long as the first: its rows must not be taken for rows that the digest of the first has told.
    for (let number = 0; number < 20; number += 1) other.transcript.push(...talk(number + 100));
    expect((await other.assemble(100_000)).messages).toEqual(other.transcript);
    await other.bootstrap(100_000);
    expect((await other.assemble(100_000)).messages).toEqual(other.transcript);
  });

  test('the fence holds: what the host does not show is not taken in', async () => {
    const session = await grown({}, 2);
    session.transcript.push(user('the current prompt'));
    session.visible.limit = 4;
    await session.bootstrap();
    expect(JSON.stringify(await session.state())).not.toContain('the current prompt');
  });

  test("without a bootstrap the host's own history is what is shown", async () => {
    const session = host();
    session.transcript.push(...talk(0));
    expect((await session.assemble()).messages).toEqual(session.transcript);
  });
});

describe('commitTurn', () => {
  test('rows behind a gap stay until the gap is closed, so that the digest skips nothing', async () => {
    const session = host();
    session.transcript.push(...talk(0));
    await session.turn(1, talk(1), 60);
    expect(await session.state()).toMatchObject({ digestedTo: 0, digest: { count: 0 } });
    await session.bootstrap(60);
    expect(await session.state()).toMatchObject({ digestedTo: 4, digest: { count: 4 } });
  });

  test('is idempotent: a retry is a duplicate and changes nothing', async () => {
    const session = await grown({}, 3);
    const before = await session.state();
    const params = session.commitParams(2, talk(2), 4);
    expect(await session.engine().commitTurn?.(params)).toEqual({ status: 'duplicate' });
    expect(await session.state()).toEqual(before);
  });

  test.each([
    ['other rows', { messages: [user('x'), assistant('y')] }],
    ['other positions', { admission: 1 }],
  ])('a key that comes back with %s is refused and changes nothing', async (_name, change) => {
    const session = await grown({}, 1);
    const before = await session.state();
    const params = session.commitParams(
      0,
      'messages' in change ? change.messages : talk(0),
      'admission' in change ? 1 : 0,
    );
    await expect(session.engine().commitTurn?.(params)).rejects.toThrow(
      'this advancement key has committed another turn',
    );
    expect(await session.state()).toEqual(before);
  });

  test('rows that do not span the anchors are refused', async () => {
    const session = host();
    const params = { ...session.commitParams(0, talk(0), 0), messages: [user('one')] };
    await expect(session.engine().commitTurn?.(params)).rejects.toThrow('its anchors say otherwise');
    expect(await readdir(folder)).toEqual([]);
  });

  test('is atomic: when the state cannot be replaced the old one stands whole', async () => {
    const session = await grown({}, 2);
    const before = await session.state();
    const engine = createWindowEngine({ stateDir: join(folder, 'S.engine.json') }, async () => []);
    await expect(engine.commitTurn?.(session.commitParams(9, talk(9), 4))).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await session.state()).toEqual(before);
    expect(await readdir(folder)).toEqual(['S.engine.json']);
  });

  test('a heartbeat is remembered and never shown', async () => {
    const session = await grown({}, 1);
    const rows = [user('HEARTBEAT'), assistant('all well')];
    const params = session.commitParams(1, rows, 2);
    session.transcript.push(...rows);
    expect(await session.engine().commitTurn?.({ ...params, isHeartbeat: true })).toEqual({ status: 'committed' });
    await session.bootstrap();
    await session.turn(2, talk(2));
    expect((await session.assemble()).messages).toEqual([...talk(0), ...talk(2)]);
  });

  test('calls that meet wait for each other', async () => {
    const session = host();
    const engine = session.engine();
    const turns = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(
      turns.flatMap((number) => [
        engine.commitTurn?.(session.commitParams(number, talk(number), number * 2)),
        engine.maintain?.({ ...session.base, reason: 'turn' }),
      ]),
    );
    expect((await session.state())['ledger']).toHaveLength(20);
  });

  test('the state file is for its owner alone', async () => {
    const session = await grown({}, 1);
    expect((await stat(join(folder, 'S.engine.json'))).mode & 0o777).toBe(0o600);
    expect((await session.state())['version']).toBe(1);
  });
});

describe('restarts', () => {
  test('between any two calls nothing is lost: one engine for all calls and one for each agree', async () => {
    // `host` makes an engine for each call; this one lives through all of them.
    const fresh = await grown();
    const single = host({ stateDir: join(folder, 'single') });
    const engine = single.engine();
    for (let number = 0; number < 20; number += 1) {
      const runtimeContext = single.context(1000);
      if (number > 0) await engine.bootstrap?.({ ...single.base, runtimeContext });
      const params = single.commitParams(number, talk(number), single.transcript.length);
      single.transcript.push(...talk(number));
      await engine.commitTurn?.({ ...params, runtimeContext });
    }
    expect(await single.assemble()).toEqual(await fresh.assemble());
  });

  test.each(['', '{', '[]', '{"version":2}', 'null'])(
    'a damaged state file (%j) is rebuilt from the transcript',
    async (text) => {
      const session = await grown({}, 2);
      await writeFile(join(folder, 'S.engine.json'), text);
      await session.bootstrap();
      expect((await session.assemble()).messages).toEqual(session.transcript);
    },
  );
});

describe('compact', () => {
  const compact = (session: ReturnType<typeof host>, more: object): unknown =>
    session.engine().compact({ ...session.base, tokenBudget: 1000, ...more });

  test('below the threshold nothing happens, unless it is forced', async () => {
    const session = await grown({}, 3);
    const before = await session.state();
    const tokensBefore = estimateTokens(session.transcript);
    expect(await compact(session, {})).toEqual({
      ok: true,
      compacted: false,
      reason: 'below threshold',
      result: { tokensBefore },
    });
    expect(await session.state()).toEqual(before);
    const forced = await compact(session, { force: true });
    const after = await session.assemble();
    expect(forced).toEqual({
      ok: true,
      compacted: true,
      result: { summary: digestOf(after), tokensBefore, tokensAfter: after.estimatedTokens },
    });
    expect(after.estimatedTokens).toBeLessThan(tokensBefore);
    expect(digestOf(after)).toMatch(/^- (?:user: question|assistant: answer) \d/m);
  });

  test('above it the older part moves into the digest and the window fits', async () => {
    const session = await grown({}, 20, 100_000);
    const answer = await compact(session, { tokenBudget: 500 });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect((await session.assemble(500)).estimatedTokens).toBeLessThanOrEqual(500);
  });

  test.each([1, 2])(
    '%i short turns are kept as they are: a digest of them would be no shorter, or say nothing',
    async (turns) => {
      const session = host();
      for (let turn = 0; turn < turns; turn += 1) await session.turn(turn, [user('hi'), assistant('hello')]);
      const before = await session.state();
      expect(await compact(session, { force: true })).toMatchObject({
        ok: true,
        compacted: false,
        reason: 'nothing to compact',
      });
      expect(await session.state()).toEqual(before);
    },
  );

  test('a session without rows has nothing to compact', async () => {
    expect(await compact(host(), { force: true })).toEqual({
      ok: true,
      compacted: false,
      reason: 'nothing to compact',
      result: { tokensBefore: 0 },
    });
  });
});

describe('the rest of the contract', () => {
  test('maintenance trims the ledger to the newest and stops for a signal', async () => {
    const session = await grown({ ledgerSize: 3 }, 5);
    const maintain = (more: object = {}): unknown =>
      session.engine().maintain?.({ ...session.base, reason: 'turn', ...more });
    await expect(maintain({ abortSignal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect((await session.state())['ledger']).toHaveLength(5);
    expect(await maintain()).toEqual({
      changed: false,
      bytesFreed: 0,
      rewrittenEntries: 0,
      reason: '2 ledger entries trimmed',
    });
    const keys = ((await session.state())['ledger'] as { key: string }[]).map(({ key }) => key);
    expect(keys).toEqual(['attempt-2', 'attempt-3', 'attempt-4']);
  });

  test('hosts without commitTurn can ingest', async () => {
    const session = host();
    const engine = session.engine();
    const ingested = await engine.ingestBatch?.({ ...session.base, messages: talk(0) });
    expect(ingested).toEqual({ ingestedCount: 2 });
    expect(await engine.ingest({ ...session.base, message: user('one') })).toEqual({ ingested: true });
    expect(await engine.ingest({ ...session.base, message: user('beat'), isHeartbeat: true })).toEqual({
      ingested: false,
    });
    expect((await session.state())['rows']).toEqual(
      [...talk(0), user('one'), null].map((message, position) => ({ position, message })),
    );
  });

  test('it is durable, owns compaction, and needs nothing that this host lacks', () => {
    const { info }: ContextEngine = createWindowEngine({ turnMaintenanceMode: 'background' });
    expect(info).toMatchObject({ id: 'window', ownsCompaction: true, turnMaintenanceMode: 'background' });
    const capabilities = hostCapabilities({ completion: false });
    expect(capabilities).not.toContain(COMPLETION_CAPABILITY);
    for (const operation of ['agent-run', 'manual-compact'] as const) {
      expect(() => resolveEngineRequirements(createWindowEngine(), operation, capabilities)).not.toThrow();
    }
  });

  test("a host that says nothing of the session's place is told so", async () => {
    const engine = createWindowEngine({}, async () => []);
    await expect(engine.bootstrap?.({ sessionId: 's' })).rejects.toThrow('no place for the state');
  });
});

describe('as a plug-in', () => {
  test('it reads the transcript through the SDK and forgets a session that is reset', async () => {
    const session = host();
    session.transcript.push(...talk(0));
    const handlers: ((event: unknown, context: unknown) => unknown)[] = [];
    const { engine } = await loadEngine({
      spec: 'example',
      cwd: folder,
      hooks: { register: (name, handler) => (name === 'session_end' ? handlers.push(handler) : 0) },
      tools: { add: () => undefined },
      logger: recordingLogger().logger,
    });
    const release = setTranscriptReader({ sessionId: 'session-1', sessionKey: 'key' }, () =>
      session.transcript.map((message, seq) => ({
        entryId: `e${seq}`,
        parentId: null,
        seq,
        message,
        role: message.role,
        createdAt: '2026-01-01T00:00:00.000Z',
      })),
    );
    expect(await engine.bootstrap?.(session.base)).toEqual({ bootstrapped: true, importedMessages: 2 });
    release();
    await expect(engine.bootstrap?.(session.base)).rejects.toThrow('no open session');
    expect(await readdir(folder)).toEqual(['S.engine.json']);
    const ended = { sessionId: 'session-1', sessionKey: 'key', sessionFile: join(folder, 'S') };
    await handlers[0]?.({ ...ended, reason: 'idle' }, {});
    expect(await readdir(folder)).toEqual(['S.engine.json']);
    await handlers[0]?.({ ...ended, reason: 'reset' }, {});
    expect(await readdir(folder)).toEqual([]);
  });
});
