import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { itemKey, promptKey } from '../../src/transcript/keys.ts';
import {
  assistant,
  CWD,
  HEADER,
  ISO,
  line,
  lines,
  opened,
  row,
  signal,
  store,
  tempFolder,
  tempSession,
  texts,
  user,
} from './transcript-kit.ts';

describe('a new session', () => {
  test('comes into being with its first row: header and row in the pi form, private modes, missing folders made (MIR-05)', async () => {
    const path = join(await tempFolder(), 'a', 'b', 's.jsonl');
    const { transcript } = store(path);
    expect(await transcript.open(signal)).toEqual({ existed: false, sessionId: 'e1', notices: [] });
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await transcript.read(signal)).toEqual({ entries: [], leafId: null });

    const message = { ...user('hi'), idempotencyKey: 'k' };
    expect(await transcript.append([row('k', user('hi'))])).toEqual([
      { created: true, entry: { entryId: 'e2', parentId: null, position: 0, createdAt: ISO, message } },
    ]);
    expect(await lines(path)).toEqual([
      { type: 'session', version: 3, id: 'e1', timestamp: ISO, cwd: CWD },
      { type: 'message', id: 'e2', parentId: null, timestamp: ISO, message },
    ]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    for (const folder of [join(path, '..'), `${path}.attempt`]) {
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    }
    expect((await stat(`${path}.attempt/lock`)).mode & 0o777).toBe(0o600);
  });

  test('an empty file is an existing session that gets its header with the first row', async () => {
    const path = await tempSession('');
    const { transcript } = store(path);
    expect(await transcript.open(signal)).toEqual({ existed: true, sessionId: 'e1', notices: [] });
    await transcript.append([row('k', user('hi'))]);
    expect(await lines(path)).toMatchObject([
      { type: 'session', id: 'e1' },
      { type: 'message', parentId: null },
    ]);
  });

  test('a session refused, aborted or closed before its first row leaves nothing behind, parents included', async () => {
    const folder = await tempFolder();
    const { transcript } = store(join(folder, 'deep', 's.jsonl'));
    await transcript.open(signal);
    await transcript.close();
    await expect(stat(join(folder, 'deep'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('rows', () => {
  test('one call adds all its rows, each hanging on the one before', async () => {
    const path = await tempSession(HEADER);
    const { transcript } = await opened(path);
    const appended = await transcript.append([row('a', user('1')), row('b', assistant('2')), row('c', user('3'))]);
    expect(appended.map(({ created, entry }) => [created, entry.entryId, entry.parentId, entry.position])).toEqual([
      [true, 'e1', null, 0],
      [true, 'e2', 'e1', 1],
      [true, 'e3', 'e2', 2],
    ]);
    expect((await transcript.read(signal)).leafId).toBe('e3');
  });

  test('a row whose key is there is left alone and given back as stored, also after a reopen (MIR-03, MIR-14)', async () => {
    const path = await tempSession();
    const first = await opened(path);
    const [before] = await first.transcript.append([row('k', user('hi', { mediaPaths: ['x.png'] }))]);
    const again = await first.transcript.append([
      row('k', user('other')),
      row('l', user('new')),
      row('l', user('twice')),
    ]);
    expect(again.map(({ created }) => created)).toEqual([false, true, false]);
    expect(again[0]?.entry).toEqual(before?.entry);
    expect(again[2]?.entry).toEqual(again[1]?.entry);
    await first.transcript.close();

    const second = await opened(path);
    const [later] = await second.transcript.append([row('k', user('other'))]);
    expect(later).toEqual({ created: false, entry: before?.entry });
    expect(await texts(second)).toEqual(['hi', 'new']);
    expect(await lines(path)).toHaveLength(3);
  });

  test("the key is the row's, whatever key its message carries, byte for byte (MIR-09, BL-30)", async () => {
    const path = await tempSession();
    const { transcript } = await opened(path);
    const key = itemKey('th', 'tu', 'sk-1234567890abcdefghijkl', 'assistant');
    for (let time = 0; time < 2; time += 1) {
      await transcript.append([row('p', user('hi')), row(key, assistant('yo', { idempotencyKey: 'another' }))]);
    }
    expect(await lines(path)).toMatchObject([
      {},
      { message: { idempotencyKey: 'p' } },
      { message: { idempotencyKey: 'codex-app-server:th:tu:sk-1234567890abcdefghijkl:assistant' } },
    ]);
    expect(await lines(path)).toHaveLength(3);
  });

  test('what comes in between in a later snapshot is added, nothing is lost or doubled (MIR-12, BL-28)', async () => {
    const made = await opened(await tempSession());
    const prompt = row(promptKey('a1'), user('hello'));
    const reply = row(itemKey('th', 'tu', 'i2', 'assistant'), assistant('hi there'));
    const reasoning = row(itemKey('th', 'tu', 'i1', 'reasoning'), assistant('reasoning'));
    await made.transcript.append([prompt, reply]);
    await made.transcript.append([prompt, reasoning, reply]);
    expect(await texts(made)).toEqual(['hello', 'hi there', 'reasoning']);
  });

  test('two turns with the same prompt are two turns (MIR-13)', async () => {
    const made = await opened(await tempSession());
    for (const attempt of ['a1', 'a2']) {
      await made.transcript.append([
        row(promptKey(attempt), user('same')),
        row(itemKey('th', attempt, 'i', 'a'), assistant('ok')),
      ]);
    }
    expect(await texts(made)).toEqual(['same', 'ok', 'same', 'ok']);
  });

  test('a prompt that another writer has just put down without a key is not doubled (BL-31)', async () => {
    for (const content of ['hi', [{ type: 'text', text: 'hi' }]]) {
      const path = await tempSession(HEADER + line('x1', null, { role: 'user', content, timestamp: 1 }));
      const made = await opened(path);
      const rows = [row('p', user('hi')), row('r', assistant('yo'))];
      const first = await made.transcript.append(rows);
      const second = await made.transcript.append(rows);
      expect(first.map(({ created, entry }) => [created, entry.entryId])).toEqual([
        [false, 'x1'],
        [true, 'e1'],
      ]);
      expect(second.map(({ created, entry }) => [created, entry.entryId])).toEqual([
        [false, 'x1'],
        [false, 'e1'],
      ]);
      expect(await texts(made)).toEqual(['hi', 'yo']);
    }
  });

  test.each([
    ['another text', [line('x1', null, user('hello'))]],
    ['answered since', [line('x1', null, user('hi')), line('x2', 'x1', assistant('yo'))]],
    ['a row with a key', [line('x1', null, user('hi', { idempotencyKey: 'other' }))]],
  ])('an earlier row is no twin of the prompt: %s', async (_name, before) => {
    const made = await opened(await tempSession(HEADER + before.join('')));
    const [prompt] = await made.transcript.append([row('p', user('hi'))]);
    expect(prompt?.created).toBe(true);
  });

  test('a row behind another one of its call is no twin of what stood at the end before', async () => {
    const made = await opened(await tempSession(HEADER + line('x1', null, user('hi'))));
    await made.transcript.append([row('r', assistant('yo')), row('p', user('hi'))]);
    expect(await texts(made)).toEqual(['hi', 'yo', 'hi']);
  });

  test('tool calls and their results are stored as pairs by id, unknown fields and parts are kept (BL-33, MIR-01)', async () => {
    const path = await tempSession();
    const made = await opened(path);
    const call = assistant('', {
      content: [{ type: 'toolCall', id: 'c1', name: 'shell', arguments: { b: 1, a: { z: [null, 'x'] } } }],
      stopReason: 'toolUse',
    });
    const result = {
      role: 'toolResult' as const,
      toolCallId: 'c1',
      toolName: 'shell',
      content: [{ type: 'text' as const, text: 'out' }],
      isError: false,
      timestamp: 1,
      details: { exitCode: 0 },
    };
    const odd = {
      role: 'custom' as const,
      customType: 'z',
      content: [{ type: 'video', frames: 3 }],
      ['__proto__x']: 1,
    };
    await made.transcript.append([row('a', call), row('b', result), row('c', odd)]);
    const { entries } = await made.transcript.read(signal);
    expect(entries.map(({ message }) => message)).toEqual([
      { ...call, idempotencyKey: 'a' },
      { ...result, idempotencyKey: 'b' },
      { ...odd, idempotencyKey: 'c' },
    ]);
  });

  test('every text survives: lone surrogates, line separators, NUL, emoji, newlines', async () => {
    const path = await tempSession();
    const all = ['\ud800', 'a\udc00b', '\u2028\u2029', '\u0000', '😀', 'one\r\ntwo\n', '"\\', 'é\u0301'];
    const first = await opened(path);
    await first.transcript.append(all.map((text, at) => row(`k${at}`, user(text))));
    await first.transcript.close();
    const second = await opened(path);
    expect(await texts(second)).toEqual(all);
    expect(await lines(path)).toHaveLength(all.length + 1);
  });

  test("a reader's changes to what it was given reach nobody else", async () => {
    const made = await opened(await tempSession());
    const message = user('hi');
    await made.transcript.append([row('k', message)]);
    message.content = 'changed';
    const view = await made.transcript.read(signal);
    for (const entry of view.entries) entry.message.content = 'changed too';
    expect(await texts(made)).toEqual(['hi']);
  });

  test('appending needs an open session', async () => {
    const path = await tempSession(HEADER);
    const { transcript } = store(path);
    await expect(transcript.append([row('k', user('x'))])).rejects.toMatchObject({ code: 'session_write_failed' });
    await transcript.open(signal);
    await transcript.close();
    await expect(transcript.append([row('k', user('x'))])).rejects.toMatchObject({ code: 'session_write_failed' });
    expect(await lines(path)).toHaveLength(1);
  });

  test('an append that was given up before it began writes nothing', async () => {
    const path = await tempSession(HEADER);
    const { transcript } = await opened(path);
    await expect(transcript.append([row('k', user('x'))], AbortSignal.abort())).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(await lines(path)).toHaveLength(1);
  });
});

test('the last run of the other realm is told to a person, in both directions', async () => {
  const rehearsed = HEADER + line('a', null, user('hi')) + line('b', 'a', assistant('x', { provider: 'rehearsal' }));
  const real = HEADER + line('a', null, user('hi')) + line('b', 'a', assistant('x'));
  const noticesOf = async (content: string, realm: string) => {
    const path = await tempSession(content);
    const { notices } = await store(path, { realm }).transcript.open(signal);
    return notices.map((notice) => notice.replace(path, 'S'));
  };
  expect(await noticesOf(rehearsed, 'codex')).toEqual(['The last answer in S was rehearsed: no model gave it.']);
  expect(await noticesOf(real, 'rehearsal')).toEqual([
    "The last answer in S is a real model's; a rehearsal adds invented ones to it.",
  ]);
  expect(await noticesOf(real, 'codex')).toEqual([]);
  expect(await noticesOf(rehearsed, 'rehearsal')).toEqual([]);
});
