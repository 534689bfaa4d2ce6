import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeSessionFs, type SessionFs } from '../../src/transcript/fs.ts';
import { deleteSessionFiles, resetSessionFiles } from '../../src/transcript/reset.ts';
import {
  clock,
  fsError,
  HEADER,
  line,
  opened,
  signal,
  store,
  tempFolder,
  tempSession,
  user,
} from './transcript-kit.ts';

const CONTENT = HEADER + line('a', null, user('hi'));

/** A session with everything that one can have beside it. */
async function fullSession(): Promise<string> {
  const path = await tempSession(CONTENT);
  for (const realm of ['codex', 'rehearsal']) {
    await store(path, { realm }).bindings.write({ version: 1, realm, threads: [] });
  }
  const { journal, outbox } = store(path);
  const promptRow = { idempotencyKey: 'p', message: user('x') };
  await journal.write({ version: 1, attemptId: 'a', threadId: 't', turnId: null, promptRow, realm: 'codex' });
  await outbox.add({ advancementKey: 'k', engineId: 'e', payload: {} });
  await mkdir(join(`${path}.attempt`, 'rehearsal', 'home'));
  await writeFile(join(`${path}.attempt`, 'rehearsal', 'home', 'f'), 'x');
  return path;
}

const beside = (path: string, names: string[]) => names.map((name) => join(`${path}.attempt`, name));
const ALL = ['binding.json', 'journal.json', 'outbox', 'rehearsal'];

test('reset keeps the old session under another name, takes the rest away, and the next one starts afresh', async () => {
  const path = await fullSession();
  const archivedTo = `${path}.reset-2026-01-02T03-04-05-678Z`;
  expect(await resetSessionFiles({ sessionFile: path, clock })).toEqual({
    sessionFile: path,
    sessionId: 'sid',
    archivedTo,
    removed: beside(path, ALL),
  });
  expect((await readdir(dirname(path))).map((name) => join(dirname(path), name))).toEqual([archivedTo]);
  expect(await readFile(archivedTo, 'utf8')).toBe(CONTENT);
  const next = store(path);
  expect(await next.transcript.open(signal)).toEqual({ existed: false, sessionId: 'e1', notices: [] });
  expect(await next.bindings.read()).toBeNull();
});

test('a second reset in the same moment overwrites no archive', async () => {
  const path = await tempSession(CONTENT);
  const first = await resetSessionFiles({ sessionFile: path, clock });
  await writeFile(path, HEADER);
  const second = await resetSessionFiles({ sessionFile: path, clock });
  expect(second.archivedTo).toBe(`${first.archivedTo}-2`);
  expect(await readFile(first.archivedTo, 'utf8')).toBe(CONTENT);
  expect(await readFile(second.archivedTo, 'utf8')).toBe(HEADER);
});

test('deletion leaves nothing', async () => {
  const path = await fullSession();
  expect(await deleteSessionFiles({ sessionFile: path, clock })).toEqual({
    sessionFile: path,
    sessionId: 'sid',
    removed: beside(path, ALL),
  });
  expect(await readdir(dirname(path))).toEqual([]);
});

describe.each([
  ['reset', resetSessionFiles],
  ['deletion', deleteSessionFiles],
])('%s refuses, and changes nothing of', (_name, end) => {
  test('a session that is not there', async () => {
    const folder = await tempFolder();
    for (const name of ['s.jsonl', 'no/such/s.jsonl']) {
      const sessionFile = join(folder, name);
      await expect(end({ sessionFile, clock })).rejects.toMatchObject({
        code: 'session_not_found',
        data: { path: sessionFile },
      });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  test('a folder, and a file that is no session', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'notes.txt'), 'mine');
    await expect(end({ sessionFile: folder, clock })).rejects.toMatchObject({ code: 'session_not_a_file' });
    const sessionFile = join(folder, 'notes.txt');
    await expect(end({ sessionFile, clock })).rejects.toMatchObject({ code: 'session_invalid' });
    expect(await readdir(folder)).toEqual(['notes.txt']);
    expect(await readFile(sessionFile, 'utf8')).toBe('mine');
  });

  test('a session in use', async () => {
    const path = await fullSession();
    const made = await opened(path);
    await expect(end({ sessionFile: path, clock })).rejects.toMatchObject({ code: 'session_busy' });
    expect(await readFile(path, 'utf8')).toBe(CONTENT);
    expect((await readdir(`${path}.attempt`)).sort()).toEqual([...ALL, 'lock'].sort());
    expect(await made.journal.read()).not.toBeNull();
  });
});

test('one that breaks off leaves a session without a binding, never a binding without its session', async () => {
  const path = await fullSession();
  const fs: SessionFs = { ...nodeSessionFs, rename: () => Promise.reject(fsError('EACCES')) };
  await expect(resetSessionFiles({ sessionFile: path, clock, fs })).rejects.toMatchObject({
    code: 'session_write_failed',
    data: { reason: 'EACCES' },
  });
  expect(await readFile(path, 'utf8')).toBe(CONTENT);
  await expect(stat(`${path}.attempt`)).rejects.toMatchObject({ code: 'ENOENT' });
});
