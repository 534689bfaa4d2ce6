// A host that dies in the middle of a turn: the next attempt mirrors the turn as aborted and never runs it again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TranscriptRow, TurnIntent } from '../../src/ports.ts';
import { sidePaths } from '../../src/transcript/side-folder.ts';
import { conversationOf, textsOf } from '../support/model-requests.ts';
import { type RehearsalBench, type RehearsedSession, rehearsalBench } from '../support/rehearsed.ts';
import { until } from '../wire/fakes/processes.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench();
});
afterAll(() => bench.close());

/** Runs an attempt in another process and kills it, once the turn has begun and the model has been asked. */
async function crashed(session: RehearsedSession, prompt: string): Promise<void> {
  // Only one process may have the thread at a time.
  await bench.appServer.close();
  const asked = session.bodies().length;
  const { launch } = bench;
  const argument = { launch, sessionFile: session.sessionFile, cwd: session.folder, prompt };
  const script = fileURLToPath(new URL('../support/attempt-process.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(argument)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { journal } = sidePaths(session.sessionFile, 'rehearsal');
  await until(() => existsSync(journal) && JSON.parse(readFileSync(journal, 'utf8')).turnId !== null);
  await until(() => session.bodies().length > asked);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until(() => bench.processes().length === 0);
}

const promptRow = (attemptId: string, text: string): TranscriptRow => {
  const idempotencyKey = `codex-attempt:${attemptId}:prompt`;
  return {
    idempotencyKey,
    message: { role: 'user', content: [{ type: 'text', text }], timestamp: 1, idempotencyKey },
  };
};

/** Leaves an intent behind, as a process does that dies. */
async function leaveIntent(session: RehearsedSession, intent: Partial<TurnIntent>): Promise<void> {
  await session.store().journal.write({
    version: 1,
    attemptId: 'dead',
    threadId: '00000000-0000-7000-8000-000000000000',
    turnId: null,
    promptRow: promptRow('dead', 'lost prompt'),
    realm: 'rehearsal',
    ...intent,
  });
}

const contents = async (session: RehearsedSession) =>
  (await session.rows()).map((row) => [row.role, row.role === 'assistant' ? row.stopReason : null, row.content]);
const said = (text: string) => [{ type: 'text', text }];

describe('a process killed during its turn', () => {
  it('leaves its prompt and what was said; the next attempt goes on with the thread and does not ask again', async () => {
    const session = await bench.session([
      { text: 'first' },
      { commentary: 'I look.', text: 'half of an answer', stall: 'mid' },
      { text: 'third' },
    ]);
    const one = await session.run({ prompt: 'one' });
    await crashed(session, 'two');
    const three = await session.run({ prompt: 'three' });
    expect(three.result).toMatchObject({ outcome: 'completed', degraded: [], threadId: one.result.threadId });
    expect(session.bodies().map((body) => textsOf(body, 'user').at(-1))).toEqual(['one', 'two', 'three']);
    expect(conversationOf(session.lastBody())).toEqual([
      ['user', 'one'],
      ['assistant', 'first'],
      ['user', 'two'],
      ['assistant', 'I look.'],
      ['user', 'three'],
    ]);
    expect(await contents(session)).toEqual([
      ['user', null, said('one')],
      ['assistant', 'stop', said('first')],
      ['user', null, said('two')],
      ['assistant', 'aborted', said('I look.')],
      ['user', null, said('three')],
      ['assistant', 'stop', said('third')],
    ]);
    expect(await session.store().journal.read()).toBeNull();
  });

  it('in the first turn of a session leaves a session that can be used', async () => {
    const session = await bench.session([{ stall: 'headers' }, { text: 'second' }]);
    await crashed(session, 'one');
    const next = await session.run({ prompt: 'two' });
    expect(next.result).toMatchObject({ outcome: 'completed', text: 'second', degraded: [] });
    expect(await contents(session)).toEqual([
      ['user', null, said('one')],
      ['assistant', 'aborted', []],
      ['user', null, said('two')],
      ['assistant', 'stop', said('second')],
    ]);
    // The thread knows the aborted turn itself: nothing of it is shown to it again.
    expect(textsOf(session.lastBody(), 'user')).toEqual(['one', 'two']);
  });
});

describe('an intent that was left', () => {
  it('before turn/started was seen, of a turn that the thread knows, is mirrored like any other', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const one = await session.run({ prompt: 'lost prompt' });
    // The session as it was before the turn, with the thread as it is after it.
    await rm(session.sessionFile);
    const touched = session.store().transcript;
    await touched.open(new AbortController().signal);
    await touched.append([promptRow('earlier', 'earlier prompt')]);
    await touched.close();
    await leaveIntent(session, { threadId: one.result.threadId ?? '' });
    await session.run({ prompt: 'two' });
    expect((await contents(session)).slice(0, 3)).toEqual([
      ['user', null, said('earlier prompt')],
      ['user', null, said('lost prompt')],
      ['assistant', 'aborted', said('first')],
    ]);
    expect(session.bodies()).toHaveLength(2);
  });

  it('before turn/started was seen, of a turn that never ran, is only closed', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const one = await session.run({ prompt: 'one' });
    for (const threadId of [one.result.threadId ?? '', '00000000-0000-7000-8000-000000000000']) {
      await leaveIntent(session, { threadId });
      const { result } = await session.run({ prompt: 'two' });
      expect(result).toMatchObject({ outcome: 'completed', degraded: [] });
    }
    expect(JSON.stringify(await session.rows())).not.toContain('lost prompt');
    expect(await session.store().journal.read()).toBeNull();
  });

  it('of a thread that is gone keeps the prompt, and the failure is told', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    await session.run({ prompt: 'one' });
    await leaveIntent(session, { turnId: 'turn-1' });
    const { result } = await session.run({ prompt: 'two' });
    expect(result.outcome).toBe('completed');
    expect(result.degraded.map(({ state }) => state)).toEqual(['bootstrap.recovering']);
    expect((await contents(session)).slice(2, 4)).toEqual([
      ['user', null, said('lost prompt')],
      ['assistant', 'aborted', []],
    ]);
    expect((await session.run({ prompt: 'three' })).result.degraded).toEqual([]);
  });

  it('of a real run is not lost in a rehearsal: its prompt is kept', async () => {
    const session = await bench.session();
    await session.run({ prompt: 'one' });
    await leaveIntent(session, { turnId: 'turn-1', realm: 'live' });
    const { result } = await session.run({ prompt: 'two' });
    expect(result).toMatchObject({ outcome: 'completed', degraded: [] });
    expect((await contents(session))[2]).toEqual(['user', null, said('lost prompt')]);
  });

  it('of a turn whose rows are there is only closed', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const one = await session.run({ prompt: 'one', attemptId: 'a-1' });
    const { threadId, turnId } = one.result;
    await leaveIntent(session, { threadId: threadId ?? '', turnId, promptRow: promptRow('a-1', 'one') });
    await session.run({ prompt: 'two' });
    expect(await contents(session)).toEqual([
      ['user', null, said('one')],
      ['assistant', 'stop', said('first')],
      ['user', null, said('two')],
      ['assistant', 'stop', said('second')],
    ]);
  });
});
