import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { nodeSessionFs, type SessionFs } from '../../src/transcript/fs.ts';
import {
  assistant,
  HEADER,
  ISO,
  line,
  lines,
  opened,
  row,
  signal,
  store,
  tempSession,
  texts,
  user,
} from './transcript-kit.ts';

function other(type: string, id: string, parentId: string | null, more: object = {}): string {
  return `${JSON.stringify({ type, id, parentId, timestamp: ISO, ...more })}\n`;
}

describe('the visible branch', () => {
  test('runs from the last entry to the root; other branches stay on disk and do not show', async () => {
    const content =
      HEADER +
      line('a', null, user('root')) +
      line('b', 'a', assistant('old way', { idempotencyKey: 'kb' })) +
      line('c', 'a', assistant('new way'));
    const made = await opened(await tempSession(content));
    expect(await texts(made)).toEqual(['root', 'new way']);
    const [seen] = await made.transcript.append([row('kb', assistant('again'))]);
    expect(seen).toMatchObject({ created: false, entry: { entryId: 'b', parentId: 'a', position: -1 } });
  });

  test('entries of other types are followed, kept and not shown; rows name the row before them', async () => {
    const content =
      HEADER +
      other('model_change', 'm', null, { modelId: 'x' }) +
      line('a', 'm', user('one')) +
      other('compaction', 'k', 'a', { summary: 's', firstKeptEntryId: 'a' }) +
      other('of_the_future', 'f', 'k', { anything: { at: ['all'] } }) +
      line('b', 'f', assistant('two')) +
      other('label', 'l', 'b', { targetId: 'a', label: 'z' });
    const path = await tempSession(content);
    const made = await opened(path);
    const { entries, leafId } = await made.transcript.read(signal);
    expect(entries.map(({ entryId, parentId, position }) => [entryId, parentId, position])).toEqual([
      ['a', null, 0],
      ['b', 'a', 1],
    ]);
    expect(leafId).toBe('b');
    await made.transcript.append([row('k', user('three'))]);
    expect(await texts(made)).toEqual(['one', 'two', 'three']);
    const text = await readFile(path, 'utf8');
    expect(text.startsWith(content)).toBe(true);
    expect((await lines(path)).at(-1)).toMatchObject({ id: 'e1', parentId: 'l' });
  });

  test('a line without an id that is no message is kept and counts for nothing', async () => {
    const odd = `${JSON.stringify({ type: 'event', data: 1 })}\n`;
    const content =
      HEADER + odd + line('a', null, user('one')) + line('x', 'a', user('aside')) + line('b', 'a', user('two')) + odd;
    const path = await tempSession(content);
    const made = await opened(path);
    expect(await texts(made)).toEqual(['one', 'two']);
    await made.transcript.append([row('k', user('three'))]);
    expect(await texts(made)).toEqual(['one', 'two', 'three']);
    expect((await lines(path)).at(-1)).toMatchObject({ parentId: 'b' });
  });

  test('of two rows with one key the first is the row', async () => {
    const twice = (id: string, parentId: string | null) => line(id, parentId, user(id, { idempotencyKey: 'k' }));
    const made = await opened(await tempSession(HEADER + twice('a', null) + twice('b', 'a')));
    expect(await made.transcript.append([row('k', user('x'))])).toMatchObject([
      { created: false, entry: { entryId: 'a' } },
    ]);
  });

  test('a second root starts afresh', async () => {
    const made = await opened(await tempSession(HEADER + line('a', null, user('old')) + line('b', null, user('new'))));
    expect(await texts(made)).toEqual(['new']);
  });

  test('an old linear file without parents reads as a chain, and the new row hangs on its last id (MIR-11)', async () => {
    const legacy = (id: string, text: string) =>
      `${JSON.stringify({ type: 'message', id, timestamp: ISO, message: user(text) })}\n`;
    const path = await tempSession(HEADER + legacy('x', 'one') + legacy('y', 'two'));
    const made = await opened(path);
    await made.transcript.append([row('k', user('three'))]);
    const { entries } = await made.transcript.read(signal);
    expect(entries.map(({ entryId, parentId }) => [entryId, parentId])).toEqual([
      ['x', null],
      ['y', 'x'],
      ['e1', 'y'],
    ]);
    expect((await lines(path)).at(-1)).toMatchObject({ id: 'e1', parentId: 'y' });
    await made.transcript.close();
    expect(await texts(await opened(path))).toEqual(['one', 'two', 'three']);
  });

  const noId = (text: string) => `${JSON.stringify({ type: 'message', timestamp: ISO, message: user(text) })}\n`;
  test.each([
    ['no ids', noId('1') + noId('2')],
    ['ids on some lines only', line('a', null, user('1')) + noId('2')],
    ['the same id twice', line('a', null, user('1')) + line('a', 'a', user('2'))],
    ['a parent that is not there', line('a', null, user('1')) + line('b', 'gone', user('2'))],
    ['a parent lost in an unreadable line', `${line('a', null, user('1'))}{"type":"mess\n${line('c', 'b', user('2'))}`],
    ['a circle', line('a', 'b', user('1')) + line('b', 'a', user('2'))],
    ['its own parent', line('a', null, user('1')) + line('b', 'b', user('2'))],
    [
      'a parent that is not named',
      `${line('a', null, user('1'))}${line('b', null, user('2'), { parentId: undefined })}`,
    ],
  ])('a tree that cannot be followed is read in the order of the file: %s', async (_name, content) => {
    const path = await tempSession(HEADER + content);
    const made = await opened(path);
    await made.transcript.append([row('k3', user('3')), row('k4', user('4'))]);
    expect(await texts(made)).toEqual(['1', '2', '3', '4']);
    await made.transcript.close();
    const again = await opened(path);
    const { entries } = await again.transcript.read(signal);
    expect(entries.map(({ position }) => position)).toEqual([0, 1, 2, 3]);
    expect(new Set(entries.map(({ entryId }) => entryId)).size).toBe(4);
    expect(await texts(again)).toEqual(['1', '2', '3', '4']);
  });

  test('a file without a header is a session of the same id in every run', async () => {
    const path = await tempSession(line('a', null, user('1')));
    const first = store(path);
    const { sessionId } = await first.transcript.open(signal);
    await first.transcript.append([row('k', user('2'))]);
    await first.transcript.close();
    expect(sessionId).toMatch(/^session-[0-9a-f]{32}$/);
    expect((await store(path).transcript.open(signal)).sessionId).toBe(sessionId);
  });
});

describe('another writer', () => {
  test('what it adds shows, and the next row hangs on it (BL-29)', async () => {
    const path = await tempSession(HEADER);
    const made = await opened(path);
    await made.transcript.append([row('p1', user('one')), row('r1', assistant('reply one'))]);
    await appendFile(path, line('x1', 'e2', user('from elsewhere')));
    await made.transcript.append([row('p2', user('two'))]);
    expect(await texts(made)).toEqual(['one', 'reply one', 'from elsewhere', 'two']);
    expect((await lines(path)).at(-1)).toMatchObject({ id: 'e3', parentId: 'x1' });
  });

  test('a store that read before another one wrote hangs its rows on what is there now, not on what it remembers (BL-29)', async () => {
    const path = await tempSession(HEADER + line('a', null, user('start')));
    const late = store(path, { newId: () => 'late' });
    await late.transcript.read(signal);
    const early = await opened(path);
    await early.transcript.append([row('p', user('one')), row('r', assistant('final reply'))]);
    await early.transcript.close();
    await late.transcript.open(signal);
    await late.transcript.append([row('q', user('two'))]);
    expect(await texts(late)).toEqual(['start', 'one', 'final reply', 'two']);
  });

  test.each([
    [
      'replaced by a longer file',
      `${HEADER}${line('n', null, user('new'))}${line('o', 'n', user('newer, and much longer than before'))}`,
      ['new', 'newer, and much longer than before'],
    ],
    ['cut short', HEADER + line('a', null, user('first')), ['first']],
    [
      'rewritten at the same length',
      `${HEADER}${line('a', null, user('first'))}${line('b', 'a', user('2ndrow'))}`,
      ['first', '2ndrow'],
    ],
  ])('a file that was rewritten is read anew: %s', async (_name, content, expected) => {
    const path = await tempSession(`${HEADER}${line('a', null, user('first'))}${line('b', 'a', user('second'))}`);
    const made = await opened(path);
    expect(await texts(made)).toEqual(['first', 'second']);
    await writeFile(path, content);
    expect(await texts(made)).toEqual(expected);
  });

  test('a file put in the place of the old one is read anew, however alike the two end', async () => {
    const tail = Array.from({ length: 60 }, (_, at) => line(`t${at}`, at === 0 ? 'a' : `t${at - 1}`, user(`${at}`)));
    const path = await tempSession(HEADER + line('a', null, user('first')) + tail.join(''));
    const made = await opened(path);
    expect((await texts(made))[0]).toBe('first');
    const other = await tempSession(
      HEADER + line('a', null, user('FIRST')) + tail.join('') + line('z', 't59', user('end')),
    );
    await nodeSessionFs.rename(other, path);
    expect((await texts(made))[0]).toBe('FIRST');
  });

  test('a line that its writer had only half written when we looked is whole when it is', async () => {
    const last = line('b', 'a', user('second'));
    const path = await tempSession(HEADER + line('a', null, user('first')) + last.slice(0, 30));
    const made = await opened(path);
    expect(await texts(made)).toEqual(['first']);
    await appendFile(path, last.slice(30) + line('c', 'b', user('third')));
    expect(await texts(made)).toEqual(['first', 'second', 'third']);
  });

  test('a file that vanished is an empty view, and the next row makes a new one', async () => {
    const path = await tempSession(HEADER + line('a', null, user('first')));
    const made = await opened(path);
    await nodeSessionFs.unlink(path);
    expect(await made.transcript.read(signal)).toEqual({ entries: [], leafId: null });
    await made.transcript.append([row('k', user('new'))]);
    expect(await texts(made)).toEqual(['new']);
  });
});

describe('cost', () => {
  function countingFs(): { fs: SessionFs; readBytes: () => number } {
    let bytes = 0;
    const fs: SessionFs = {
      ...nodeSessionFs,
      async open(path, mode) {
        const handle = await nodeSessionFs.open(path, mode);
        return {
          async read(buffer, offset, length, position) {
            const result = await handle.read(buffer, offset, length, position);
            if (path.endsWith('.jsonl')) bytes += result.bytesRead;
            return result;
          },
          write: (buffer, offset, length, position) => handle.write(buffer, offset, length, position),
          truncate: (size) => handle.truncate(size),
          sync: () => handle.sync(),
          close: () => handle.close(),
        };
      },
    };
    return { fs, readBytes: () => bytes };
  }

  test('10,000 rows are read once; an append reads nothing, a tail of another writer little more than itself', async () => {
    let content = HEADER;
    for (let at = 0; at < 10_000; at += 1) {
      content += line(`r${at}`, at === 0 ? null : `r${at - 1}`, user(`text ${at}`, { idempotencyKey: `k${at}` }));
    }
    const path = await tempSession(content);
    const { fs, readBytes } = countingFs();
    const made = await opened(path, { fs });
    const once = Buffer.byteLength(content);
    expect(readBytes()).toBe(once);
    for (let at = 0; at < 5; at += 1)
      await made.transcript.append([row(`n${at}`, user('x')), row('k77', user('there'))]);
    expect(await texts(made)).toHaveLength(10_005);
    expect(readBytes()).toBe(once);
    const foreign = line('f', 'e5', user('foreign'));
    await appendFile(path, foreign);
    expect((await texts(made)).at(-1)).toBe('foreign');
    expect(readBytes()).toBe(once + 4096 + Buffer.byteLength(foreign));
  });
});
