// What the model sees as developer instructions, read from its request body (spec 2.7, T1, design 3).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPLACED_INSTRUCTIONS_LINE } from '../../src/codex/threads.ts';
import { recordingEngine } from '../support/engines.ts';
import { conversationOf, textsOf } from '../support/model-requests.ts';
import { type RehearsalBench, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  // Codex compacts a thread that has room for its next turn: a full one is left for a fresh one before that.
  bench = await rehearsalBench({ configOverrides: { model_auto_compact_token_limit: '200000' } });
});
afterAll(() => bench.close());

/** An engine whose addition is another one each turn; it shows nothing of the past. */
function adding(...additions: (string | undefined)[]) {
  const left = [...additions];
  return recordingEngine({
    bootstrap: () => ({ bootstrapped: true }),
    assemble: () => {
      const addition = left.shift();
      return { messages: [], ...(addition === undefined ? {} : { systemPromptAddition: addition }) };
    },
  });
}

const replaced = (text: string) => `${REPLACED_INSTRUCTIONS_LINE}\n\n${text}`;

describe("the engine's addition in the model's request", () => {
  it('stands in the developer instructions of a fresh thread, after the base, one blank line between', async () => {
    const session = await bench.session();
    const { engine } = adding('REMEMBER A');
    await session.run({ prompt: 'one', developerInstructions: 'BASE' }, { engine });
    expect(conversationOf(session.lastBody())).toEqual([
      ['developer', 'BASE\n\nREMEMBER A'],
      ['user', 'one'],
    ]);
  });

  it('of the second attempt on the session is in its request: same thread, bootstrapped, replaced', async () => {
    const session = await bench.session([{ text: 'first' }, { text: 'second' }]);
    const { engine, methods } = adding('REMEMBER A', 'REMEMBER B');
    const one = await session.run({ prompt: 'one' }, { engine });
    expect(methods()).toEqual(['assemble', 'ingest', 'ingest']);
    const two = await session.run({ prompt: 'two' }, { engine });
    expect(methods().slice(3)).toEqual(['bootstrap', 'assemble', 'ingest', 'ingest']);
    expect(one.result.threadId).not.toBeNull();
    expect(two.result.threadId).toBe(one.result.threadId);
    expect(conversationOf(session.lastBody())).toEqual([
      ['developer', 'REMEMBER A'],
      ['user', 'one'],
      ['assistant', 'first'],
      ['developer', replaced('REMEMBER B')],
      ['user', 'two'],
    ]);
  });

  it('that has vanished is replaced by the line that says so, and then no more', async () => {
    const session = await bench.session();
    const { engine } = adding('REMEMBER A', undefined, undefined);
    for (const prompt of ['one', 'two', 'three']) await session.run({ prompt }, { engine });
    expect(textsOf(session.lastBody(), 'developer')).toEqual(['REMEMBER A', replaced('There are none now.')]);
  });

  it('that has vanished leaves the base instructions in the replacement', async () => {
    const session = await bench.session();
    const { engine } = adding('REMEMBER A', undefined);
    for (const prompt of ['one', 'two']) await session.run({ prompt, developerInstructions: 'BASE' }, { engine });
    expect(textsOf(session.lastBody(), 'developer')).toEqual(['BASE\n\nREMEMBER A', replaced('BASE')]);
  });

  it('that is the same as before is not injected again, also after a new process', async () => {
    const session = await bench.session();
    const { engine } = adding('SAME', 'SAME', 'SAME');
    await session.run({ prompt: 'one' }, { engine });
    await session.run({ prompt: 'two' }, { engine });
    await bench.appServer.close();
    await session.run({ prompt: 'three' }, { engine });
    expect(textsOf(session.lastBody(), 'developer')).toEqual(['SAME']);
    expect(textsOf(session.lastBody(), 'user')).toEqual(['one', 'two', 'three']);
  });

  it('that comes for the first time on a bound thread is injected', async () => {
    const session = await bench.session();
    const { engine } = adding(undefined, 'LATE');
    await session.run({ prompt: 'one' }, { engine });
    await session.run({ prompt: 'two' }, { engine });
    expect(conversationOf(session.lastBody()).slice(-2)).toEqual([
      ['developer', replaced('LATE')],
      ['user', 'two'],
    ]);
  });

  it('is given again after Codex has compacted the thread', async () => {
    const session = await bench.session([{ text: 'first', usage: { inputTokens: 210_000, outputTokens: 10 } }]);
    const { engine } = adding('SAME', 'SAME', 'SAME', 'SAME');
    await session.run({ prompt: 'one' }, { engine });
    const two = await session.run({ prompt: 'two' }, { engine });
    expect(two.events.filter((event) => event.type === 'attempt.compaction')).toEqual([
      { type: 'attempt.compaction', phase: 'start', backend: 'codex-app-server', ownsCompaction: false },
      { type: 'attempt.compaction', phase: 'end', backend: 'codex-app-server', ownsCompaction: false, completed: true },
    ]);
    await session.run({ prompt: 'three' }, { engine });
    await session.run({ prompt: 'four' }, { engine });
    expect(conversationOf(session.lastBody()).filter(([, text]) => /^(These|SAME|three|four)/.test(text))).toEqual([
      ['developer', 'SAME'],
      ['developer', replaced('SAME')],
      ['user', 'three'],
      ['user', 'four'],
    ]);
  });

  it('of this turn is the one in the request when a new process resumes the thread and compacts it', async () => {
    const session = await bench.session([{ text: 'first', usage: { inputTokens: 210_000, outputTokens: 10 } }]);
    const { engine } = adding('REMEMBER A', 'REMEMBER B');
    const one = await session.run({ prompt: 'one' }, { engine });
    await bench.appServer.close();
    const two = await session.run({ prompt: 'two' }, { engine });
    expect(two.result.threadId).toBe(one.result.threadId);
    expect(two.events.map((event) => event.type)).toContain('attempt.compaction');
    expect(textsOf(session.lastBody(), 'developer')).toEqual(['REMEMBER B']);
    expect(textsOf(session.lastBody(), 'user').at(-1)).toBe('two');
  });

  it('stays in the instructions: neither in the prompt nor in the session', async () => {
    const session = await bench.session();
    const { engine } = adding('SECRET ADVICE', 'SECRET ADVICE 2');
    await session.run({ prompt: 'one' }, { engine });
    await session.run({ prompt: 'two' }, { engine });
    expect(textsOf(session.lastBody(), 'user').join()).not.toContain('SECRET');
    expect(JSON.stringify(await session.rows())).not.toContain('SECRET');
  });
});
