// An engine may carry a session on elsewhere when it compacts it (spec 8): under another id, in another file.
import { copyFile, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CompactionResult, compactSession } from '../../src/compact-session.ts';
import { AttemptError } from '../../src/errors.ts';
import type { SessionStore, ThreadBinding } from '../../src/ports.ts';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { answer } from '../../src/testing/controlled/script.ts';
import { controlledServices, WORK_FOLDER } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';
import { gate } from '../support/gate.ts';
import { assistant, signal, store, tempFolder, user } from './transcript-kit.ts';

const ROWS = [
  { idempotencyKey: 'a:prompt', message: user('we began here') },
  { idempotencyKey: 'a:answer', message: assistant('and went on') },
];

interface Session {
  folder: string;
  file: string;
  sessionId: string;
  leafId: string;
}

/** A session of two rows with a bound thread that has seen both. */
async function session(more: Partial<ThreadBinding> = {}): Promise<Session> {
  const folder = await tempFolder();
  const file = join(folder, 's.jsonl');
  const made = store(file);
  const { sessionId } = await made.transcript.open(signal);
  const rows = await made.transcript.append(ROWS);
  const leafId = rows.at(-1)?.entry.entryId ?? '';
  await made.bindings.write({ ...bindingOf({ seenEntryId: leafId }), sessionId, ...more });
  await made.outbox.add({ advancementKey: 'owed', engineId: 'controlled', payload: {} });
  await made.transcript.close();
  return { folder, file, sessionId, leafId };
}

/** A copy of the session with another id, as an engine may make it. */
async function copyOf({ folder, file }: Session, id: string, name = 'next.jsonl'): Promise<string> {
  const copy = join(folder, name);
  const [header = '', ...rows] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(copy, [JSON.stringify({ ...JSON.parse(header), id }), ...rows].join('\n'), { mode: 0o600 });
  return copy;
}

interface Compacted {
  result: CompactionResult;
  notices: string[];
}

/** A compaction whose engine answers with this `result`; the native one is refused, which costs nothing. */
function compacting(at: SessionStore, result: object) {
  const controlled = controlledServices({
    engine: { info: { ownsCompaction: true }, methods: [] },
    plan: { 'engine.compact': answer({ ok: true, compacted: true, result }), 'codex.thread/resume': answer({}) },
  });
  const handle = compactSession({ cwd: WORK_FOLDER }, { ...controlled.services, session: at });
  const notices: string[] = [];
  handle.onEvent((event) => event.type === 'attempt.notice' && notices.push(event.message));
  return { handle, notices };
}

async function compact(at: SessionStore, result: object): Promise<Compacted> {
  const { handle, notices } = compacting(at, result);
  return { result: await handle.result, notices };
}

/** What the next attempt on a file does. */
async function next(file: string) {
  const controlled = controlledServices({ engine: {} });
  const { outcome, sessionId } = await controlled.run({}, { session: store(file) });
  const calls = controlled.script.names();
  const [asked] = controlled.script.of('engine.assemble') as { sessionId: string }[];
  return {
    outcome,
    sessionId,
    toEngine: asked?.sessionId,
    thread: calls.find((name) => /^codex\.thread\/(?:start|resume)$/.test(name)),
  };
}

const RESUMED = { outcome: 'completed', thread: 'codex.thread/resume' };

describe('a successor in another file', () => {
  it('is what the session is from then on: threads and owed turns go along, and the old file stays as it was', async () => {
    const old = await session();
    const before = await readFile(old.file, 'utf8');
    const file = await copyOf(old, 'session-next');
    const { result, notices } = await compact(store(old.file), { sessionId: 'session-next', sessionFile: file });
    expect(result).toMatchObject({ ok: true, sessionFile: file, sessionId: 'session-next', degraded: [] });
    expect(notices).toEqual([`the engine carries the session on as session-next in ${file}`]);
    expect(await readFile(old.file, 'utf8')).toBe(before);
    const successor = store(file);
    expect(await successor.bindings.read()).toMatchObject({
      sessionId: 'session-next',
      threads: [{ threadId: 'thread-9', seenEntryId: old.leafId }],
    });
    expect(await successor.outbox.list()).toMatchObject([{ advancementKey: 'owed' }]);
    expect(await store(old.file).outbox.list()).toEqual([]);
    expect((await stat(`${file}.attempt`)).mode & 0o777).toBe(0o700);
    expect(await next(file)).toEqual({ ...RESUMED, sessionId: 'session-next', toEngine: 'session-next' });
  });

  it('may be named by its target, and hold fewer rows: the thread knows what was in the others', async () => {
    const old = await session();
    const file = join(old.folder, 'short.jsonl');
    const made = store(file, { newId: () => 'short-1' });
    await made.transcript.open(signal);
    await made.transcript.append([{ idempotencyKey: 's', message: user('In short: we began.') }]);
    await made.transcript.close();
    const target = { agentId: 'main', sessionId: 'short-1', sessionKey: 'k', storePath: file };
    expect((await compact(store(old.file), { sessionTarget: target })).result).toMatchObject({
      sessionFile: file,
      sessionId: 'short-1',
      degraded: [],
    });
    expect(await next(file)).toMatchObject({ ...RESUMED, sessionId: 'short-1' });
  });

  it.each<[string, (old: Session) => Promise<string>, string]>([
    ['is not there', async ({ folder }) => join(folder, 'nowhere.jsonl'), 'session_not_found'],
    ['is another session than it says', (old) => copyOf(old, 'session-other'), 'session_invalid'],
    [
      'is no session',
      async ({ folder }) => {
        await writeFile(join(folder, 'text'), 'just text\n');
        return join(folder, 'text');
      },
      'session_invalid',
    ],
    [
      'is in use',
      async (old) => {
        const file = await copyOf(old, 'session-next');
        await store(file).transcript.open(signal);
        return file;
      },
      'session_busy',
    ],
  ])('that %s is not adopted: the compaction stands, and so does the session', async (_, make, code) => {
    const old = await session();
    const sessionFile = await make(old);
    const { result } = await compact(store(old.file), { sessionId: 'session-next', sessionFile });
    expect(result).toMatchObject({
      ok: true,
      compacted: true,
      sessionFile: old.file,
      sessionId: old.sessionId,
      degraded: [{ state: 'compacting', code }],
    });
    expect(await store(old.file).bindings.read()).toMatchObject({ sessionId: old.sessionId });
    expect(await store(old.file).outbox.list()).toHaveLength(1);
    expect(await next(old.file)).toMatchObject({ ...RESUMED, sessionId: old.sessionId });
  });
});

describe('a successor in the same file', () => {
  it('has the other id in its header, and every other byte as before', async () => {
    const old = await session();
    const [header = '', ...rows] = (await readFile(old.file, 'utf8')).split('\n');
    const { result } = await compact(store(old.file), { sessionId: 'session-next' });
    expect(result).toMatchObject({ ok: true, sessionFile: old.file, sessionId: 'session-next', degraded: [] });
    const [now = '', ...after] = (await readFile(old.file, 'utf8')).split('\n');
    expect(after).toEqual(rows);
    expect(JSON.parse(now)).toEqual({ ...JSON.parse(header), id: 'session-next' });
    expect((await stat(old.file)).mode & 0o777).toBe(0o600);
    expect(await next(old.file)).toEqual({ ...RESUMED, sessionId: 'session-next', toEngine: 'session-next' });
  });

  it('keeps bytes that are no text', async () => {
    const old = await session();
    const rows = (await readFile(old.file)).subarray((await readFile(old.file)).indexOf(0x0a));
    const strange = Buffer.concat([
      rows,
      Buffer.from('{"type":"custom","id":"x","parentId":null,"text":"'),
      Buffer.of(0xff),
      Buffer.from('"}\n'),
    ]);
    const [header = ''] = (await readFile(old.file, 'utf8')).split('\n');
    await writeFile(old.file, Buffer.concat([Buffer.from(header), strange]));
    await compact(store(old.file), { sessionId: 'session-next' });
    const now = await readFile(old.file);
    expect(now.subarray(now.indexOf(0x0a)).equals(strange)).toBe(true);
  });

  it.each<[string, (old: Session) => Promise<object>]>([
    ['named as it is', async ({ sessionId, file }) => ({ sessionId, sessionFile: file })],
    [
      'named by a link to it',
      async ({ folder, file }) => {
        await symlink(file, join(folder, 'link.jsonl'));
        return { sessionFile: join(folder, 'link.jsonl') };
      },
    ],
    ['not named at all', async () => ({ sessionTarget: { sessionId: null, storePath: null } })],
  ])('that is the present one, %s, is nothing to tell', async (_, named) => {
    const old = await session();
    const copy = join(old.folder, 'before');
    await copyFile(old.file, copy);
    const { result, notices } = await compact(store(old.file), await named(old));
    expect({ notices, degraded: result.degraded }).toEqual({ notices: [], degraded: [] });
    expect(await readFile(old.file)).toEqual(await readFile(copy));
  });
});

it('a binding that cannot be carried along costs a note: the session is the new one, and its next turn starts a thread', async () => {
  const old = await session();
  const file = await copyOf(old, 'session-next');
  const from = store(old.file);
  const adopt: SessionStore['adopt'] = async (...args) => {
    const adopted = await from.adopt?.(...args);
    if (adopted == null) throw new Error('nothing was adopted');
    const write = () => Promise.reject(new AttemptError('session_write_failed', 'the disk is full'));
    return { ...adopted, store: { ...adopted.store, bindings: { ...adopted.store.bindings, write } } };
  };
  const { result } = await compact({ ...from, adopt }, { sessionId: 'session-next', sessionFile: file });
  expect(result).toMatchObject({
    ok: true,
    sessionFile: file,
    sessionId: 'session-next',
    degraded: [{ state: 'compacting', code: 'session_write_failed' }],
  });
  expect(await next(file)).toMatchObject({ outcome: 'completed', thread: 'codex.thread/start' });
});

it('an attempt that is stopped meanwhile waits for it, and gives the new session back', async () => {
  const old = await session();
  const file = await copyOf(old, 'session-next');
  const from = store(old.file);
  const [reached, released] = [gate(), gate()];
  const adopt: SessionStore['adopt'] = async (...args) => {
    const adopted = await from.adopt?.(...args);
    reached.open();
    await released.opened;
    return adopted ?? null;
  };
  const { handle } = compacting({ ...from, adopt }, { sessionId: 'session-next', sessionFile: file });
  await reached.opened;
  handle.abort();
  await quiet();
  released.open();
  expect(await handle.result).toMatchObject({ sessionFile: file, sessionId: 'session-next' });
  await store(file).transcript.open(signal);
  await store(old.file).transcript.open(signal);
});

it('a host that cannot follow says so, and keeps its session', async () => {
  const old = await session();
  const { adopt: _, ...plain } = store(old.file);
  const { result, notices } = await compact(plain, { sessionId: 'session-next' });
  expect(result).toMatchObject({ ok: true, sessionId: old.sessionId });
  expect(notices).toEqual(['the engine carries the session on elsewhere, which this host cannot follow']);
});

it.each([
  { sessionId: 7 },
  { sessionId: 'a\nb' },
  { sessionFile: '' },
  { sessionTarget: { sessionId: {} } },
  { sessionTarget: { storePath: 42 } },
])('a successor that is none is a bad result: %j', async (result) => {
  const old = await session();
  expect((await compact(store(old.file), result)).result).toMatchObject({
    ok: false,
    error: { code: 'engine_bad_result' },
    sessionId: old.sessionId,
  });
});
