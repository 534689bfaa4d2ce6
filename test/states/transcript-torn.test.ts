import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeSessionFs } from '../../src/transcript/fs.ts';
import {
  fsError,
  HEADER,
  line,
  lines,
  opened,
  patchedFs,
  row,
  signal,
  store,
  tempFolder,
  tempSession,
  texts,
  user,
} from './transcript-kit.ts';

describe('a torn last line', () => {
  test('cut at every byte: good lines show, the rest is told and taken away by the next append', async () => {
    const good = HEADER + line('a', null, user('one'));
    const last = Buffer.from(line('b', 'a', user('zwei 😀 é'), { extra: [1, { x: null }] }));
    const path = await tempSession();
    for (let cut = 0; cut <= last.length; cut += 1) {
      const before = Buffer.concat([Buffer.from(good), last.subarray(0, cut)]);
      await writeFile(path, before);
      const isWhole = cut >= last.length - 1;
      const expected = isWhole ? ['one', 'zwei 😀 é'] : ['one'];
      const made = store(path);
      const { notices } = await made.transcript.open(signal);
      expect(notices).toEqual(
        isWhole || cut === 0
          ? []
          : [`The last line of ${path} is incomplete (${cut} bytes) and was left out; the next write takes it away.`],
      );
      expect(await texts(made)).toEqual(expected);
      expect(await readFile(path)).toEqual(before);
      await made.transcript.append([row('k', user('next')), row('l', user('last'))]);
      expect(await texts(made)).toEqual([...expected, 'next', 'last']);
      const stored = await lines(path);
      expect(stored).toHaveLength(2 + expected.length + 1);
      expect(stored.at(-2)).toMatchObject({ id: 'e1', parentId: isWhole ? 'b' : 'a' });
      await made.transcript.append([row('m', user('after'))]);
      await made.transcript.close();
      const again = await opened(path);
      expect(await texts(again)).toEqual([...expected, 'next', 'last', 'after']);
      await again.transcript.close();
    }
  });

  test('a header alone without its newline is a good line', async () => {
    const path = await tempSession(HEADER.trimEnd());
    const made = await opened(path);
    await made.transcript.append([row('k', user('hi'))]);
    expect(await lines(path)).toMatchObject([{ id: 'sid' }, { id: 'e1' }]);
  });

  test('zeros that a crash left behind the last line are cut off', async () => {
    const path = await tempSession(
      Buffer.concat([Buffer.from(HEADER + line('a', null, user('one'))), Buffer.alloc(5000)]),
    );
    const made = await opened(path);
    await made.transcript.append([row('k', user('two'))]);
    expect(await lines(path)).toHaveLength(3);
    expect(await texts(made)).toEqual(['one', 'two']);
  });

  test('what grows behind a line that had no newline yet is read anew', async () => {
    const path = await tempSession(HEADER + line('a', null, user('one')).trimEnd());
    const made = await opened(path);
    expect(await texts(made)).toEqual(['one']);
    await writeFile(path, HEADER + line('a', null, user('one')) + line('b', 'a', user('two')));
    expect(await texts(made)).toEqual(['one', 'two']);
  });
});

test('unreadable lines in the middle stay on disk, are skipped and told', async () => {
  const content = `${HEADER}${line('a', null, user('one'))}not json\n\n[1]\n${line('b', 'a', user('two'))}null\n`;
  const path = await tempSession(content);
  const made = store(path);
  expect((await made.transcript.open(signal)).notices).toEqual([
    `3 unreadable line(s) of ${path} were skipped, the first is line 3.`,
  ]);
  await made.transcript.append([row('k', user('three'))]);
  expect(await texts(made)).toEqual(['one', 'two', 'three']);
  expect((await readFile(path, 'utf8')).startsWith(content)).toBe(true);
});

describe('a path that is no session', () => {
  test.each([
    ['a text', 'just some notes\n\nof mine'],
    ['a JSON document', '{"name":"x","version":"1.0.0"}'],
    [
      'JSON lines of another kind',
      '{"type":"event","id":"1"}\n{"type":"message","id":"2","text":"no message object"}\n',
    ],
    ['a JSON array', '[{"type":"session"}]'],
    ['blank lines', '\n\n'],
    ['bytes', Buffer.from([0xff, 0xfe, 0, 1, 2, 3])],
    ['a torn header', HEADER.slice(0, 20)],
  ])('%s is refused by name and left as it is', async (_name, content) => {
    const path = await tempSession(content);
    const { transcript } = store(path);
    for (const attempt of [() => transcript.open(signal), () => transcript.read(signal)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'session_invalid',
        message: expect.stringContaining(path),
      });
    }
    await transcript.close();
    expect(await readFile(path)).toEqual(Buffer.from(content));
    expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
  });

  test('a folder, also behind a link', async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, 'd'));
    await symlink(join(folder, 'd'), join(folder, 'l'));
    for (const name of ['d', 'l']) {
      const { transcript } = store(join(folder, name));
      await expect(transcript.open(signal)).rejects.toMatchObject({ code: 'session_not_a_file' });
      await transcript.close();
    }
    expect((await readdir(folder)).sort()).toEqual(['d', 'l']);
  });

  test('a path below a file', async () => {
    const file = await tempSession(HEADER);
    const { transcript } = store(join(file, 's.jsonl'));
    await expect(transcript.open(signal)).rejects.toMatchObject({ code: 'session_unreadable' });
    expect(await readFile(file, 'utf8')).toBe(HEADER);
  });

  test.each(['EACCES', 'EPERM', 'EIO', 'ELOOP'])('a file that the system does not let us read (%s)', async (code) => {
    const path = await tempSession(HEADER);
    const fail = () => Promise.reject(fsError(code));
    for (const patch of [{ stat: fail }, { open: fail }]) {
      const { transcript } = store(path, { fs: patchedFs(nodeSessionFs, patch) });
      await expect(transcript.open(signal)).rejects.toMatchObject({
        code: 'session_unreadable',
        data: { reason: code },
      });
      await transcript.close();
    }
    expect(await readFile(path, 'utf8')).toBe(HEADER);
    expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
  });
});
