import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeSessionFs, type SessionFileHandle, type SessionFs } from '../../src/transcript/fs.ts';
import {
  assistant,
  fsError,
  HEADER,
  line,
  opened,
  row,
  signal,
  store,
  tempSession,
  texts,
  user,
} from './transcript-kit.ts';

/** Steps of a write in their order, as `<call> <kind of file>`; the one at `failAt` fails, a failing write after half of its bytes. */
function failingFs(code: string): { fs: SessionFs; steps: string[]; arm: (failAt: number) => void } {
  const steps: string[] = [];
  let failAt = -1;
  const step = (name: string) => {
    steps.push(name);
    return steps.length - 1 === failAt;
  };
  const guard = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    if (step(name)) throw fsError(code);
    return await run();
  };
  const watch = (handle: SessionFileHandle): SessionFileHandle => ({
    read: (buffer, offset, length, position) => handle.read(buffer, offset, length, position),
    async write(buffer, offset, length, position) {
      if (step('write')) {
        await handle.write(buffer, offset, Math.floor(length / 2), position);
        throw fsError(code);
      }
      return await handle.write(buffer, offset, length, position);
    },
    truncate: (size) => handle.truncate(size),
    sync: () => guard('sync', () => handle.sync()),
    close: () => handle.close(),
  });
  const fs: SessionFs = {
    ...nodeSessionFs,
    async open(path, mode) {
      if (mode === 'read') return await nodeSessionFs.open(path, mode);
      return watch(await guard(`open ${mode}`, () => nodeSessionFs.open(path, mode)));
    },
    link: (from, to) => guard('link', () => nodeSessionFs.link(from, to)),
    rename: (from, to) => guard('rename', () => nodeSessionFs.rename(from, to)),
  };
  return {
    fs,
    steps,
    arm(at) {
      steps.length = 0;
      failAt = at;
    },
  };
}

const ROWS = [row('p', user('one')), row('r', assistant('two'))];
const FILE = HEADER + line('a', null, user('zero'));

describe.each(['ENOSPC', 'EIO', 'EDQUOT', 'EROFS'])('a write that fails with %s', (code) => {
  test.each([
    ['of an existing session', FILE, ['open append', 'write', 'sync'], FILE],
    ['of an empty file', '', ['open append', 'write', 'sync'], ''],
    ['of a file whose newline is missing', FILE.trimEnd(), ['open append', 'write', 'sync'], FILE.trimEnd()],
    ['of a file with a torn line', `${FILE}{"type":"me`, ['open append', 'write', 'sync'], FILE],
    ['of a new session', undefined, ['open create', 'write', 'sync', 'link'], undefined],
  ])(
    'at each step %s: nothing of it stays, and the next try writes all once',
    async (_name, content, expected, after) => {
      for (let failAt = 0; failAt < expected.length; failAt += 1) {
        const path = await tempSession(content);
        const { fs, steps, arm } = failingFs(code);
        const made = await opened(path, { fs });
        arm(failAt);
        await expect(made.transcript.append(ROWS)).rejects.toMatchObject({
          code: 'session_write_failed',
          message: expect.stringContaining(path),
          data: { path, reason: code },
        });
        expect(steps).toEqual(expected.slice(0, failAt + 1));
        if (after === undefined) await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
        // Opening the file for the write comes before the torn line is cut off.
        else expect(await readFile(path, 'utf8')).toBe(failAt === 0 ? content : after);
        arm(-1);
        expect((await made.transcript.append(ROWS)).map(({ created }) => created)).toEqual([true, true]);
        const before = content === undefined || content === '' ? [] : ['zero'];
        expect(await texts(made)).toEqual([...before, 'one', 'two']);
        await made.transcript.close();
        expect(await texts(await opened(path))).toEqual([...before, 'one', 'two']);
        expect((await readdir(dirname(path))).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      }
    },
  );
});

test('a write that takes several calls is written whole', async () => {
  const fs: SessionFs = {
    ...nodeSessionFs,
    async open(path, mode) {
      const handle = await nodeSessionFs.open(path, mode);
      return {
        read: (buffer, offset, length, position) => handle.read(buffer, offset, Math.min(7, length), position),
        write: (buffer, offset, length, position) => handle.write(buffer, offset, Math.min(7, length), position),
        truncate: (size) => handle.truncate(size),
        sync: () => handle.sync(),
        close: () => handle.close(),
      };
    },
  };
  const path = await tempSession();
  const made = await opened(path, { fs });
  await made.transcript.append(ROWS);
  await made.transcript.append([row('q', user('three'))]);
  expect(await texts(made)).toEqual(['one', 'two', 'three']);
});

test('a failed write that cannot be taken back loses no good line, and the next append ends well', async () => {
  const path = await tempSession(FILE);
  let isFailing = true;
  const fs: SessionFs = {
    ...nodeSessionFs,
    async open(file, mode) {
      const handle = await nodeSessionFs.open(file, mode);
      return {
        read: (buffer, offset, length, position) => handle.read(buffer, offset, length, position),
        async write(buffer, offset, length, position) {
          if (!isFailing || mode !== 'append') return await handle.write(buffer, offset, length, position);
          await handle.write(buffer, offset, length - 5, position);
          throw fsError('EIO');
        },
        truncate: (size) => (isFailing ? Promise.reject(fsError('EIO')) : handle.truncate(size)),
        sync: () => handle.sync(),
        close: () => handle.close(),
      };
    },
  };
  const made = await opened(path, { fs });
  await expect(made.transcript.append(ROWS)).rejects.toMatchObject({ code: 'session_write_failed' });
  isFailing = false;
  // The first row reached the disk under its key, the second was torn.
  expect((await made.transcript.append(ROWS)).map(({ created }) => created)).toEqual([false, true]);
  expect(await texts(made)).toEqual(['zero', 'one', 'two']);
});

test('a row that is no JSON is refused and nothing of its call is written', async () => {
  const path = await tempSession(FILE);
  const made = await opened(path);
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const rows = [row('a', user('fine')), row('b', { role: 'custom', content: circle })];
  await expect(made.transcript.append(rows)).rejects.toMatchObject({ code: 'session_write_failed' });
  expect(await readFile(path, 'utf8')).toBe(FILE);
});

test('without hard links a session is made and locked all the same', async () => {
  const fs: SessionFs = { ...nodeSessionFs, link: () => Promise.reject(fsError('EPERM')) };
  const path = await tempSession();
  const made = await opened(path, { fs });
  await made.transcript.append(ROWS);
  expect(await texts(made)).toEqual(['one', 'two']);
  await expect(store(path, { fs }).transcript.open(signal)).rejects.toMatchObject({ code: 'session_busy' });
});

test.each([
  ['ENOSPC', 'session_write_failed'],
  ['EACCES', 'session_unreadable'],
  ['EROFS', 'session_unreadable'],
])('a side folder that cannot be made (%s) refuses the session and leaves nothing', async (reason, code) => {
  for (const call of ['mkdir', 'link'] as const) {
    const path = await tempSession(FILE);
    const fs: SessionFs = { ...nodeSessionFs, [call]: () => Promise.reject(fsError(reason)) };
    const { transcript } = store(path, { fs });
    await expect(transcript.open(signal)).rejects.toMatchObject({ code, data: { reason } });
    await transcript.close();
    expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
    expect(await readFile(path, 'utf8')).toBe(FILE);
  }
});
