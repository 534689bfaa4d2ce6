import { chmod, lstat, mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeSessionFs, type SessionFs } from '../../src/transcript/fs.ts';
import { realSessionFile } from '../../src/transcript/real-path.ts';
import { resetSessionFiles } from '../../src/transcript/reset.ts';
import { clock, fsError, HEADER, line, opened, row, signal, store, tempFolder, texts, user } from './transcript-kit.ts';

const CONTENT = HEADER + line('a', null, user('zero'));

/** Ways to name `<folder>/real/s.jsonl` otherwise. */
const OTHER_NAMES: readonly [string, (folder: string) => Promise<string>][] = [
  [
    'a link to it',
    async (folder) => {
      await symlink(join(folder, 'real', 's.jsonl'), join(folder, 'link'));
      return join(folder, 'link');
    },
  ],
  [
    'a relative link to it',
    async (folder) => {
      await symlink('real/../real/s.jsonl', join(folder, 'link'));
      return join(folder, 'link');
    },
  ],
  [
    'a chain of links in other folders',
    async (folder) => {
      await mkdir(join(folder, 'far', 'off'), { recursive: true });
      await symlink('../../real/s.jsonl', join(folder, 'far', 'off', 'one'));
      await symlink('off', join(folder, 'far', 'near'));
      await symlink('far/near/one', join(folder, 'two'));
      return join(folder, 'two');
    },
  ],
  [
    'a link to its folder',
    async (folder) => {
      await symlink('real', join(folder, 'folder'));
      return join(folder, 'folder', 's.jsonl');
    },
  ],
];

describe.each(OTHER_NAMES)('a session under another name: %s', (_name, makeName) => {
  async function bothNames(content: string | null) {
    const folder = await realpath(await tempFolder());
    await mkdir(join(folder, 'real'));
    const file = join(folder, 'real', 's.jsonl');
    if (content !== null) await writeFile(file, content);
    return { folder, file, name: await makeName(folder) };
  }

  test.each(['by its own name', 'by the other'])('is one session: taken %s, it is busy under both', async (which) => {
    const { file, name } = await bothNames(CONTENT);
    const [first, second] = which === 'by its own name' ? [file, name] : [name, file];
    const made = await opened(first);
    await expect(store(second).transcript.open(signal)).rejects.toMatchObject({
      code: 'session_busy',
      data: { path: `${file}.attempt/lock` },
    });
    await made.bindings.write({ version: 1, realm: 'codex', sessionId: 'sid', threads: [] });
    await made.transcript.close();
    expect(await store(second).bindings.read()).toEqual(await made.bindings.read());
    expect((await readdir(join(file, '..'))).sort()).toEqual(['s.jsonl', 's.jsonl.attempt']);
  });

  test('keeps the name that it was given, and its rows go to the file', async () => {
    const { file, name } = await bothNames(CONTENT);
    const made = await opened(name);
    expect(made.transcript.sessionFile).toBe(name);
    await made.transcript.append([row('k', user('one'))]);
    await made.transcript.close();
    expect(await texts(store(file))).toEqual(['zero', 'one']);
  });

  test('comes into being where the name leads to', async () => {
    const { file, name } = await bothNames(null);
    const before = await lstat(name).catch(() => null);
    const made = store(name);
    expect(await made.transcript.open(signal)).toMatchObject({ existed: false });
    await expect(store(file).transcript.open(signal)).rejects.toMatchObject({ code: 'session_busy' });
    await made.transcript.append([row('k', user('one'))]);
    await made.transcript.close();
    expect(await texts(store(file))).toEqual(['one']);
    expect((await lstat(name)).isSymbolicLink()).toBe(before?.isSymbolicLink() ?? false);
  });

  test('is reset where it lies; the name then leads to the next session', async () => {
    const { file, name } = await bothNames(CONTENT);
    const { archivedTo } = await resetSessionFiles({ sessionFile: name, clock });
    expect(archivedTo).toBe(`${file}.reset-2026-01-02T03-04-05-678Z`);
    expect(await readFile(archivedTo, 'utf8')).toBe(CONTENT);
    const next = await opened(name);
    await next.transcript.append([row('k', user('anew'))]);
    expect(await texts(store(file))).toEqual(['anew']);
  });
});

describe('links that lead nowhere', () => {
  test('a folder that is not there yet is made where the link names it', async () => {
    const folder = await realpath(await tempFolder());
    await symlink('not/yet', join(folder, 'sessions'));
    const made = await opened(join(folder, 'sessions', 's.jsonl'));
    await made.transcript.append([row('k', user('one'))]);
    await made.transcript.close();
    expect(await readdir(join(folder, 'not', 'yet'))).toEqual(['s.jsonl']);
  });

  test.each([
    ['itself', { a: 'a' }, 'a'],
    ['another and back', { a: 'b', b: 'a' }, 'a'],
    ['a folder in a circle', { a: 'b', b: 'a' }, 'a/s.jsonl'],
    ['a missing file behind a circle', { a: 'b/none', b: 'a' }, 'a'],
  ])('a link to %s is named', async (_name, links, given) => {
    const folder = await realpath(await tempFolder());
    for (const [name, target] of Object.entries(links)) await symlink(target, join(folder, name));
    const path = join(folder, given);
    expect(() => store(path)).toThrow(
      expect.objectContaining({ code: 'session_unreadable', message: expect.stringContaining(path) }),
    );
    expect((await readdir(folder)).sort()).toEqual(Object.keys(links));
  });

  test('a path without links, there or not, is itself', async () => {
    const folder = await realpath(await tempFolder());
    await writeFile(join(folder, 'file'), '');
    for (const name of ['file', 'none', 'none/deeper', 'file/below']) {
      expect(realSessionFile(join(folder, name))).toBe(join(folder, name));
    }
  });
});

describe('a place where no session can be', () => {
  test.skipIf(process.platform !== 'linux')(
    'a file system that takes nothing is refused, not tried for ever',
    async () => {
      for (const path of ['/proc/x.jsonl', '/proc/none/deeper/x.jsonl']) {
        await expect(store(path).transcript.open(signal)).rejects.toMatchObject({
          code: 'session_unreadable',
          message: expect.stringMatching(/\/proc\/.*--session FILE.*CODEX_ATTEMPT_HOME/),
          data: { path: `${path}.attempt`, reason: 'ENOENT' },
        });
      }
    },
  );

  test('a side folder that is a file is named with the way out and stays', async () => {
    const folder = await tempFolder();
    const path = join(folder, 's.jsonl');
    await writeFile(path, CONTENT);
    await writeFile(`${path}.attempt`, 'mine');
    await expect(store(path).transcript.open(signal)).rejects.toMatchObject({
      code: 'session_unreadable',
      message: expect.stringMatching(/s\.jsonl\.attempt is not a folder.*Move it away/),
      data: { path: `${path}.attempt` },
    });
    expect(await readFile(`${path}.attempt`, 'utf8')).toBe('mine');
    expect((await readdir(folder)).sort()).toEqual(['s.jsonl', 's.jsonl.attempt']);
  });
});

describe('a full disk is told with the path that could not be written', () => {
  test.each<[string, string, (path: string, fs: SessionFs) => Promise<unknown>]>([
    ['session', 's.jsonl', async (path, fs) => (await opened(path, { fs })).transcript.append([row('k', user('x'))])],
    ['lock', 's.jsonl.attempt', (path, fs) => store(path, { fs }).transcript.open(signal)],
    [
      'binding',
      's.jsonl.attempt/binding.json',
      (path, fs) => store(path, { fs }).bindings.write({ version: 1, realm: 'codex', threads: [] }),
    ],
    [
      'outbox',
      's.jsonl.attempt/outbox/000000000001.json',
      (path, fs) => store(path, { fs }).outbox.add({ advancementKey: 'k', engineId: 'e', payload: {} }),
    ],
  ])('%s', async (what, name, write) => {
    const path = join(await tempFolder(), 's.jsonl');
    await writeFile(path, CONTENT);
    const fs: SessionFs = {
      ...nodeSessionFs,
      async open(file, mode) {
        const handle = await nodeSessionFs.open(file, mode);
        const isIt = what === 'lock' || !file.includes('/lock.');
        if (mode === 'read' || !isIt) return handle;
        return {
          read: (buffer, offset, length, position) => handle.read(buffer, offset, length, position),
          write: () => Promise.reject(fsError('ENOSPC')),
          truncate: (size) => handle.truncate(size),
          sync: () => handle.sync(),
          close: () => handle.close(),
        };
      },
    };
    await expect(write(path, fs)).rejects.toMatchObject({
      code: 'session_write_failed',
      message: expect.stringContaining(join(path, '..', name)),
      data: { reason: 'ENOSPC' },
    });
    expect(await readFile(path, 'utf8')).toBe(CONTENT);
  });
});

describe('modes', () => {
  test('what the store makes is private; a file that was there keeps the mode that its owner gave it', async () => {
    const folder = await tempFolder();
    for (const [name, mode] of [
      ['empty', 0o644],
      ['full', 0o640],
    ] as const) {
      await writeFile(join(folder, name), name === 'full' ? CONTENT : '');
      await chmod(join(folder, name), mode);
    }
    for (const name of ['empty', 'full', 'deep/new']) {
      const made = await opened(join(folder, name));
      await made.transcript.append([row('k', user('x'))]);
    }
    const modes = await Promise.all(
      ['empty', 'full', 'deep/new', 'deep', 'deep/new.attempt', 'deep/new.attempt/lock'].map(
        async (name) => (await stat(join(folder, name))).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o644, 0o640, 0o600, 0o700, 0o700, 0o600]);
  });

  test('making folders says which was the first, also when others were there', async () => {
    const folder = await tempFolder();
    expect(await nodeSessionFs.mkdir(join(folder, 'a', 'b', 'c'))).toBe(join(folder, 'a'));
    expect(await nodeSessionFs.mkdir(join(folder, 'a', 'b', 'd'))).toBe(join(folder, 'a', 'b', 'd'));
    expect(await nodeSessionFs.mkdir(join(folder, 'a'))).toBeUndefined();
    await writeFile(join(folder, 'file'), '');
    await expect(nodeSessionFs.mkdir(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(nodeSessionFs.mkdir(join(folder, 'file', 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
