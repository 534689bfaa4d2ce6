import { mkdir, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OutboxRecord, ThreadBinding, TurnIntent } from '../../src/ports.ts';
import { nodeSessionFs, type SessionFs } from '../../src/transcript/fs.ts';
import { fsError, HEADER, opened, recordingLogger, row, signal, store, tempSession, user } from './transcript-kit.ts';

const BINDING: ThreadBinding = {
  version: 1,
  realm: 'codex',
  threads: [
    {
      threadId: 't1',
      toolFingerprint: 'f',
      engine: { id: 'e', policy: 'p' },
      epoch: 'x',
      instructionsHash: 'h',
      seenEntryId: 's',
      context: { tokens: 241_198, window: 258_400 },
    },
    { threadId: 't2', toolFingerprint: '', engine: null, epoch: null, instructionsHash: null, seenEntryId: null },
  ],
};

const INTENT: TurnIntent = {
  version: 1,
  attemptId: 'a',
  threadId: 't',
  turnId: null,
  promptRow: row('p', user('hi \ud800', { extra: 1 })),
  realm: 'codex',
};

const record = (advancementKey: string): OutboxRecord => ({
  advancementKey,
  engineId: 'e',
  payload: { z: 1, a: [{ y: null, b: 'é' }] },
});

describe('binding and journal', () => {
  test('a binding that came along with a copied session is told and not used', async () => {
    const [path, copy] = [await tempSession(HEADER), await tempSession(HEADER)];
    await (await opened(path)).bindings.write(BINDING);
    await mkdir(`${copy}.attempt`);
    await writeFile(`${copy}.attempt/binding.json`, await readFile(`${path}.attempt/binding.json`));
    const made = store(copy);
    const { notices } = await made.transcript.open(signal);
    expect(notices).toEqual([
      'The session was copied or moved: its native threads stay with the other place, the next turn starts a new one.',
    ]);
    expect(await made.bindings.read()).toBeNull();
    await made.bindings.write(BINDING);
    expect(await made.bindings.read()).toEqual(BINDING);
    await made.transcript.close();
  });

  test('what is written is read, also by another process of the same session; clearing twice is fine', async () => {
    const path = await tempSession(HEADER);
    const made = await opened(path);
    expect(await made.bindings.read()).toBeNull();
    expect(await made.journal.read()).toBeNull();
    await made.bindings.write(BINDING);
    await made.journal.write(INTENT);
    const other = store(path);
    expect(await other.bindings.read()).toEqual(BINDING);
    expect(await other.journal.read()).toEqual(INTENT);
    for (const name of ['binding.json', 'journal.json']) {
      expect((await stat(`${path}.attempt/${name}`)).mode & 0o777).toBe(0o600);
    }
    for (let time = 0; time < 2; time += 1) {
      await made.bindings.clear();
      await made.journal.clear();
    }
    expect(await other.bindings.read()).toBeNull();
    expect(await other.journal.read()).toBeNull();
  });

  test('rehearsed and real threads have bindings of their own', async () => {
    const path = await tempSession(HEADER);
    const rehearsed: ThreadBinding = { version: 1, realm: 'rehearsal', threads: [] };
    await store(path, { realm: 'rehearsal' }).bindings.write(rehearsed);
    expect(await store(path).bindings.read()).toBeNull();
    await store(path).bindings.write(BINDING);
    expect(await store(path, { realm: 'rehearsal' }).bindings.read()).toEqual(rehearsed);
    expect(await readdir(`${path}.attempt/rehearsal`)).toEqual(['binding.json']);
    expect((await stat(`${path}.attempt/rehearsal`)).mode & 0o777).toBe(0o700);
  });

  test('a binding of before an engine was configured stays valid (spec T1)', async () => {
    const path = await tempSession(HEADER);
    await mkdir(`${path}.attempt`);
    const old = { version: 1, realm: 'codex', threads: [{ threadId: 't', toolFingerprint: 'f' }] };
    await writeFile(`${path}.attempt/binding.json`, JSON.stringify(old));
    expect(await store(path).bindings.read()).toEqual({
      version: 1,
      realm: 'codex',
      threads: [
        { threadId: 't', toolFingerprint: 'f', engine: null, epoch: null, instructionsHash: null, seenEntryId: null },
      ],
    });
  });

  test.each([
    null,
    7,
    [],
    {},
    { tokens: 5 },
    { tokens: -1, window: 10 },
    { tokens: '5', window: 10 },
    { tokens: 5, window: 0 },
    { tokens: 5, window: null },
  ])('figures of a thread that make no sense (%j) are not known, and the thread stays bound', async (context) => {
    const path = await tempSession(HEADER);
    await mkdir(`${path}.attempt`);
    const thread = BINDING.threads[1];
    const written = { ...BINDING, threads: [{ ...thread, context }] };
    await writeFile(`${path}.attempt/binding.json`, JSON.stringify(written));
    expect(await store(path).bindings.read()).toStrictEqual({ ...BINDING, threads: [thread] });
  });

  test('the session that they were written for is kept with them', async () => {
    const path = await tempSession(HEADER);
    const made = await opened(path);
    await made.bindings.write({ ...BINDING, sessionId: 'sid' });
    await made.journal.write({ ...INTENT, sessionId: 'sid' });
    expect(await store(path).bindings.read()).toEqual({ ...BINDING, sessionId: 'sid' });
    expect(await store(path).journal.read()).toEqual({ ...INTENT, sessionId: 'sid' });
  });

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"version":2,"realm":"codex","threads":[]}',
    '{"version":1,"realm":"codex"}',
    '{"version":1,"realm":"codex","threads":[{"threadId":7,"toolFingerprint":"f"}]}',
  ])('a file that makes no sense (%j) reads as null; opening keeps it aside and says so', async (text) => {
    const path = await tempSession(HEADER);
    const folder = `${path}.attempt`;
    await mkdir(`${folder}/outbox`, { recursive: true });
    const names = ['binding.json', 'journal.json', 'outbox/000000000007.json'];
    for (const name of names) await writeFile(`${folder}/${name}`, text);
    const { logger, warnings } = recordingLogger();
    const made = store(path, { logger });
    // Whoever only reads has no right to rename: another process may be about to.
    expect([await made.bindings.read(), await made.journal.read(), await made.outbox.list()]).toEqual([null, null, []]);
    expect((await readdir(folder)).sort()).toEqual(['binding.json', 'journal.json', 'outbox']);
    expect(warnings).toEqual([]);

    const { notices } = await made.transcript.open(signal);
    expect(notices).toEqual([
      `A file beside the session made no sense and was set aside as ${folder}/binding.json.bad: a new native thread is started.`,
      `A file beside the session made no sense and was set aside as ${folder}/journal.json.bad: a turn that broke off is not looked for.`,
      `A file beside the session made no sense and was set aside as ${folder}/outbox/000000000007.json.bad: the context engine does not get the turn in it.`,
    ]);
    expect(warnings).toEqual(Array(3).fill('session side file: not understood, set aside'));
    for (const name of names) {
      expect(await readFile(`${folder}/${name}.bad`, 'utf8')).toBe(text);
      await expect(stat(`${folder}/${name}`)).rejects.toMatchObject({ code: 'ENOENT' });
    }
    await made.transcript.close();
    expect(await made.transcript.open(signal)).toMatchObject({ notices: [] });
  });

  test.each(['binding.json', 'journal.json'])('a folder in the place of %s is an error that names it', async (name) => {
    const path = await tempSession(HEADER);
    await mkdir(`${path}.attempt/${name}`, { recursive: true });
    const made = store(path);
    await expect(made.transcript.open(signal)).rejects.toMatchObject({
      code: 'session_unreadable',
      message: expect.stringContaining(`${path}.attempt/${name}`),
    });
    await expect(stat(`${path}.attempt/lock`)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a write that fails leaves the old value', async () => {
    const path = await tempSession(HEADER);
    await store(path).bindings.write(BINDING);
    for (const call of ['open', 'rename', 'mkdir'] as const) {
      let isFailing = true;
      const real: SessionFs = nodeSessionFs;
      const fail = (): Promise<never> => Promise.reject(fsError('ENOSPC'));
      const fs: SessionFs = {
        ...real,
        open: (file, mode) => (call === 'open' && mode !== 'read' && isFailing ? fail() : real.open(file, mode)),
        rename: (from, to) => (call === 'rename' && isFailing ? fail() : real.rename(from, to)),
        mkdir: (folder) => (call === 'mkdir' && isFailing ? fail() : real.mkdir(folder)),
      };
      const { bindings } = store(path, { fs });
      await expect(bindings.write({ ...BINDING, threads: [] })).rejects.toMatchObject({ code: 'session_write_failed' });
      isFailing = false;
      expect(await bindings.read()).toEqual(BINDING);
      expect(await readdir(`${path}.attempt`)).toEqual(['binding.json']);
    }
  });

  test('a file that cannot be read is an error, not an absent one', async () => {
    const path = await tempSession(HEADER);
    const { bindings } = store(path);
    await bindings.write(BINDING);
    const fs: SessionFs = { ...nodeSessionFs, open: () => Promise.reject(fsError('EACCES')) };
    await expect(store(path, { fs }).bindings.read()).rejects.toMatchObject({ code: 'session_unreadable' });
    expect(await bindings.read()).toEqual(BINDING);
  });
});

describe('a session file that is gone', () => {
  test('takes its bindings with it: the new session of that path resumes no thread of the old one (spec T2)', async () => {
    const path = await tempSession(HEADER);
    await store(path).bindings.write(BINDING);
    await store(path, { realm: 'rehearsal' }).bindings.write({ ...BINDING, realm: 'rehearsal' });
    await unlink(path);
    const made = await opened(path);
    expect(await made.bindings.read()).toBeNull();
    expect(await store(path, { realm: 'rehearsal' }).bindings.read()).toBeNull();
  });

  test('so does one that was emptied', async () => {
    const path = await tempSession(HEADER);
    await store(path).bindings.write(BINDING);
    await writeFile(path, '');
    expect(await (await opened(path)).bindings.read()).toBeNull();
  });

  test('keeps them when its first turn broke off before the file was made', async () => {
    const path = await tempSession();
    const before = store(path);
    await before.bindings.write(BINDING);
    await before.journal.write(INTENT);
    const made = await opened(path);
    expect(await made.bindings.read()).toEqual(BINDING);
    expect(await made.journal.read()).toEqual(INTENT);
  });

  test.each([undefined, ''])(
    'stays the session that it was when its first turn broke off (file: %j)',
    async (content) => {
      const path = await tempSession(content);
      await store(path).journal.write({ ...INTENT, sessionId: 'the first' });
      const made = store(path);
      expect(await made.transcript.open(signal)).toMatchObject({ sessionId: 'the first' });
      await made.transcript.append([row('k', user('hi'))]);
      await made.transcript.close();
      expect(await store(path).transcript.open(signal)).toMatchObject({ sessionId: 'the first' });
    },
  );
});

describe('outbox', () => {
  test('keeps the order of acceptance over restarts; a key that is there already is not added again', async () => {
    const path = await tempSession(HEADER);
    const keys = Array.from({ length: 12 }, (_, at) => `key/${12 - at}`);
    const first = store(path);
    expect(await first.outbox.list()).toEqual([]);
    await Promise.all(keys.map((key) => first.outbox.add(record(key))));
    await first.outbox.add({ ...record('key/7'), payload: { other: true } });
    const second = store(path);
    expect(await second.outbox.list()).toEqual(keys.map(record));
    // A file system may list a folder in any order.
    const backwards: SessionFs = {
      ...nodeSessionFs,
      readdir: async (at) => (await nodeSessionFs.readdir(at)).sort().reverse(),
    };
    expect(await store(path, { fs: backwards }).outbox.list()).toEqual(keys.map(record));
    await second.outbox.remove('key/12');
    await second.outbox.remove('key/5');
    await second.outbox.remove('never there');
    await second.outbox.add(record('key/12'));
    const rest = keys.filter((key) => key !== 'key/12' && key !== 'key/5');
    expect(await store(path).outbox.list()).toEqual([...rest, 'key/12'].map(record));
    const [name] = await readdir(`${path}.attempt/outbox`);
    expect((await stat(`${path}.attempt/outbox/${name}`)).mode & 0o777).toBe(0o600);
  });

  test('a payload is frozen at acceptance: the same bytes in the same order, whatever happens to the object', async () => {
    const path = await tempSession(HEADER);
    const { outbox } = store(path);
    const payload: Record<string, unknown> = { z: 1, a: { y: 2, b: 3 } };
    const adding = outbox.add({ advancementKey: 'k', engineId: 'e', payload });
    payload['z'] = 'changed';
    await adding;
    expect(JSON.stringify(await outbox.list())).toBe(
      '[{"advancementKey":"k","engineId":"e","payload":{"z":1,"a":{"y":2,"b":3}}}]',
    );
  });

  test('a record that makes no sense does not stop the others, and its place is not used again', async () => {
    const path = await tempSession(HEADER);
    const { outbox } = store(path);
    for (const key of ['a', 'b']) await outbox.add(record(key));
    const folder = `${path}.attempt/outbox`;
    const last = (await readdir(folder)).sort().at(-1);
    await writeFile(`${folder}/${last}`, '{"advancementKey":');
    await outbox.add(record('c'));
    expect(await outbox.list()).toEqual([record('a'), record('c')]);
    const made = await opened(path);
    expect(await made.outbox.list()).toEqual([record('a'), record('c')]);
    expect((await readdir(folder)).sort()[1]).toBe(`${last}.bad`);
  });

  test('an add that fails leaves the outbox as it was', async () => {
    const path = await tempSession(HEADER);
    await store(path).outbox.add(record('a'));
    const fs: SessionFs = { ...nodeSessionFs, rename: () => Promise.reject(fsError('ENOSPC')) };
    const { outbox } = store(path, { fs });
    await expect(outbox.add(record('b'))).rejects.toMatchObject({ code: 'session_write_failed' });
    expect(await outbox.list()).toEqual([record('a')]);
  });
});

test('a store that is never used leaves no trace', async () => {
  const path = await tempSession(HEADER);
  const made = store(path);
  await made.bindings.read();
  await made.journal.read();
  await made.outbox.list();
  await made.outbox.remove('x');
  await made.transcript.read(signal);
  await made.transcript.close();
  expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
});
