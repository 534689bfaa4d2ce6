import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Transcript } from '../../src/ports.ts';
import { nodeSessionFs, type SessionFs } from '../../src/transcript/fs.ts';
import { isProcessGone, processStartTime } from '../../src/transcript/process-identity.ts';
import {
  HEADER,
  ISO,
  opened,
  recordingLogger,
  row,
  signal,
  store,
  tempFolder,
  tempSession,
  user,
} from './transcript-kit.ts';

const ROOT = new URL('../../', import.meta.url);

/** Opens the session that a line names, says how that went; closes it at an empty line and at the end of its input. */
const OTHER_PROCESS = `
import { createJiti } from 'jiti';
import { createInterface } from 'node:readline';
const jiti = createJiti(process.argv[1]);
const { openSessionStore } = await jiti.import('./src/transcript/store.ts');
const clock = { now: Date.now, setTimeout, clearTimeout };
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
let transcript;
say('ready');
for await (const sessionFile of createInterface({ input: process.stdin })) {
  if (sessionFile === '') {
    await transcript.close();
    say('closed');
    continue;
  }
  transcript = openSessionStore({ sessionFile, realm: 'codex', cwd: '/', clock }).transcript;
  const opened = transcript.open(new AbortController().signal);
  await opened.then(() => say('held'), (error) => say({ code: error.code, ...error.data }));
}
await transcript.close();
`;

interface OtherProcess {
  child: ChildProcess;
  pid: number;
  next(): Promise<unknown>;
  send(text: string): void;
  end(): Promise<void>;
}

async function otherProcess(): Promise<OtherProcess> {
  const root = ROOT.pathname;
  const child = spawn(process.execPath, ['--input-type=module', '-e', OTHER_PROCESS, '--', root], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const out = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await out.next()).value));
  expect(await next()).toBe('ready');
  return {
    child,
    pid: child.pid ?? 0,
    next,
    send: (text) => child.stdin.write(`${text}\n`),
    async end() {
      child.stdin.end();
      await exited;
    },
  };
}

async function writeLock(sessionFile: string, text: string): Promise<string> {
  await mkdir(`${sessionFile}.attempt`, { recursive: true });
  const path = `${sessionFile}.attempt/lock`;
  await writeFile(path, text);
  return path;
}

function ownerText(more: object = {}): string {
  return JSON.stringify({
    pid: process.pid,
    startTime: processStartTime(process.pid),
    host: hostname(),
    token: 't',
    since: ISO,
    ...more,
  });
}

/** The number of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid ?? 0;
}

describe('two processes', () => {
  test('a second run on a busy session is told who holds it since when; after the end it gets it', async () => {
    const path = await tempSession(HEADER);
    const other = await otherProcess();
    other.send(path);
    expect(await other.next()).toBe('held');
    const { since } = JSON.parse(await readFile(`${path}.attempt/lock`, 'utf8'));
    const { transcript } = store(path);
    const failure = await transcript.open(signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'session_busy', data: { pid: other.pid, since, host: hostname() } });
    expect(String(failure)).toContain(`process ${other.pid} on ${hostname()} since ${since}`);
    expect(await readFile(path, 'utf8')).toBe(HEADER);
    await transcript.close();
    await other.end();
    expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
    expect(await transcript.open(signal)).toMatchObject({ existed: true });
  });

  test('a killed owner does not lock the session for good', async () => {
    const path = await tempSession(HEADER);
    const other = await otherProcess();
    other.send(path);
    expect(await other.next()).toBe('held');
    other.child.kill('SIGKILL');
    await once(other.child, 'exit');
    const { logger, warnings } = recordingLogger();
    const { transcript } = await opened(path, { logger });
    expect(warnings).toEqual(['session lock: taken over from a process that is gone']);
    await transcript.append([row('k', user('hi'))]);
    expect(JSON.parse(await readFile(`${path}.attempt/lock`, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(await readdir(`${path}.attempt`)).toEqual(['lock']);
  });

  test('of four that go for a session at once exactly one gets it, be it free or left by a dead process', async () => {
    const others = await Promise.all([1, 2, 3, 4].map(() => otherProcess()));
    const dead = await deadPid();
    for (let round = 0; round < 12; round += 1) {
      const path = await tempSession(HEADER);
      if (round % 2 === 1) await writeLock(path, ownerText({ pid: dead, startTime: null }));
      for (const other of others) other.send(path);
      const answers = await Promise.all(others.map((other) => other.next()));
      expect(answers.filter((answer) => answer === 'held')).toHaveLength(1);
      const rest = answers.filter((answer) => answer !== 'held');
      expect(rest).toEqual(rest.map(() => expect.objectContaining({ code: 'session_busy' })));
      const winner = others[answers.indexOf('held')];
      expect(JSON.parse(await readFile(`${path}.attempt/lock`, 'utf8'))).toMatchObject({ pid: winner?.pid });
      expect(await readdir(`${path}.attempt`)).toEqual(['lock']);
      for (const other of others) other.send('');
      expect(await Promise.all(others.map((other) => other.next()))).toEqual(others.map(() => 'closed'));
      expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
    }
  });
});

describe('a lock that is there', () => {
  test.each([
    ['of a dead process', async () => ownerText({ pid: await deadPid() })],
    ['of a dead process without a start time', async () => ownerText({ pid: await deadPid(), startTime: null })],
  ])('is taken over: %s', async (_name, text) => {
    const path = await tempSession(HEADER);
    await writeLock(path, await text());
    expect(await store(path).transcript.open(signal)).toMatchObject({ existed: true });
  });

  test.skipIf(processStartTime(process.pid) === null)(
    'is taken over when another process has its number by now',
    async () => {
      const path = await tempSession(HEADER);
      await writeLock(path, ownerText({ startTime: '1' }));
      expect(await store(path).transcript.open(signal)).toMatchObject({ existed: true });
    },
  );

  test.each([
    ['of a live process', ownerText()],
    ['of a live process whose start time nobody knows', ownerText({ startTime: null })],
    ['of another machine', ownerText({ host: 'elsewhere', pid: 1 })],
    ['of this process, by another store', ownerText()],
  ])('is respected: %s', async (_name, text) => {
    const path = await tempSession(HEADER);
    const lock = await writeLock(path, text);
    const { transcript } = store(path);
    await expect(transcript.open(signal)).rejects.toMatchObject({ code: 'session_busy', data: { since: ISO } });
    await transcript.close();
    expect(await readFile(lock, 'utf8')).toBe(text);
  });

  // Times are the file system's: the clock of these tests stands still somewhere else.
  test.each(['', '{"pid":', '{"pid":"x"}', 'null', '\u0000\u0001', '{"pid":0,"host":"h","token":"t","since":"s"}'])(
    "that makes no sense (%j) is respected while it may be being written, then it is nobody's",
    async (text) => {
      for (const seconds of [-60, 60]) {
        const path = await tempSession(HEADER);
        const lock = await writeLock(path, text);
        const { logger, warnings } = recordingLogger();
        const { transcript } = store(path, { logger });
        await expect(transcript.open(signal)).rejects.toMatchObject({ code: 'session_busy', data: { pid: null } });
        expect(await readFile(lock, 'utf8')).toBe(text);
        const time = (await stat(lock)).mtimeMs / 1000 + seconds;
        await utimes(lock, time, time);
        expect(await transcript.open(signal)).toMatchObject({ existed: true });
        expect(warnings).toEqual(['session lock: taken over from nobody: the lock file made no sense']);
        expect(await readdir(dirname(lock))).toEqual(['lock']);
      }
    },
  );

  test.each(['lock', 'lock.claim'])('that is a folder (%s) is named with the way out', async (name) => {
    const path = await tempSession(HEADER);
    const lock = await writeLock(path, ownerText({ pid: await deadPid() }));
    const folder = join(dirname(lock), name);
    await rm(folder, { force: true });
    await mkdir(folder);
    const failure = await store(path)
      .transcript.open(signal)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'session_unreadable', data: { path: folder } });
    expect(String(failure)).toContain(`${folder} is a folder, where its lock file belongs. Move it away`);
    expect((await stat(folder)).isDirectory()).toBe(true);
  });

  test('whose taker died half-way is taken over all the same', async () => {
    const path = await tempSession(HEADER);
    const dead = await deadPid();
    const lock = await writeLock(path, ownerText({ pid: dead, token: 'a' }));
    await writeFile(`${lock}.claim`, ownerText({ pid: dead, token: 'b' }));
    expect(await store(path).transcript.open(signal)).toMatchObject({ existed: true });
    expect(await readdir(dirname(lock))).toEqual(['lock']);
  });

  test('judged stale just before another process took it over is not taken twice', async () => {
    const path = await tempSession(HEADER);
    const lock = await writeLock(path, ownerText({ pid: await deadPid() }));
    const live = ownerText({ token: 'the winner' });
    const fs: SessionFs = {
      ...nodeSessionFs,
      async link(from, to) {
        // The other process is done between our look at the lock and our claim.
        if (to.endsWith('.claim')) await writeFile(lock, live);
        await nodeSessionFs.link(from, to);
      },
    };
    await expect(store(path, { fs }).transcript.open(signal)).rejects.toMatchObject({ code: 'session_busy' });
    expect(await readFile(lock, 'utf8')).toBe(live);
    expect(await readdir(dirname(lock))).toEqual(['lock']);
  });
});

describe('giving back', () => {
  test('close releases our lock, may be called twice, and the session can be opened again', async () => {
    const path = await tempSession(HEADER);
    const { transcript } = await opened(path);
    await transcript.close();
    await transcript.close();
    expect(await readdir(dirname(path))).toEqual(['s.jsonl']);
    expect(await transcript.open(signal)).toMatchObject({ existed: true });
  });

  test("close leaves another's lock alone", async () => {
    const path = await tempSession(HEADER);
    const { transcript } = await opened(path);
    const lock = await writeLock(path, ownerText({ token: 'not ours' }));
    await transcript.close();
    expect(await readFile(lock, 'utf8')).toBe(ownerText({ token: 'not ours' }));
  });

  test('a side folder that holds something stays', async () => {
    const path = await tempSession(HEADER);
    const made = await opened(path);
    await made.bindings.write({ version: 1, realm: 'codex', threads: [] });
    await made.transcript.close();
    expect(await readdir(`${path}.attempt`)).toEqual(['binding.json']);
  });

  /** Opens a session that is not there, calling `act` before the call `at` of the file system; says how many there were. */
  async function openWith(at: number, act: (transcript: Transcript, controller: AbortController) => void) {
    const path = join(await tempFolder(), 's.jsonl');
    const controller = new AbortController();
    let calls = 0;
    const called = () => {
      if (calls === at) act(transcript, controller);
      calls += 1;
      return nodeSessionFs;
    };
    const fs: SessionFs = {
      ...nodeSessionFs,
      stat: (file) => called().stat(file),
      open: (file, mode) => called().open(file, mode),
      mkdir: (folder) => called().mkdir(folder),
      link: (from, to) => called().link(from, to),
      remove: (file) => called().remove(file),
    };
    const { transcript } = store(path, { fs });
    const outcome = await transcript.open(controller.signal).catch((error: unknown) => error);
    const made = calls;
    if (outcome instanceof Error) {
      // Nobody has to call `close` for that: reading waits until the abandoned open has cleared up.
      await transcript.read(signal);
      expect(await readdir(dirname(path))).toEqual([]);
    }
    await transcript.close();
    expect(await readdir(dirname(path))).toEqual([]);
    return { outcome, calls: made };
  }

  test.each<[string, (transcript: Transcript, controller: AbortController) => void]>([
    ['aborted', (_transcript, controller) => controller.abort()],
    ['closed', (transcript) => void transcript.close()],
  ])('an open that is %s at any moment keeps no lock and leaves nothing', async (_name, act) => {
    const { calls, outcome } = await openWith(-1, act);
    expect(outcome).toMatchObject({ existed: false });
    expect(calls).toBeGreaterThanOrEqual(8);
    for (let at = 0; at < calls; at += 1) {
      expect((await openWith(at, act)).outcome).toMatchObject({ code: 'aborted' });
    }
  });

  test('an open that was given up before it began touches nothing', async () => {
    const path = join(await tempFolder(), 's.jsonl');
    await expect(store(path).transcript.open(AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    await expect(stat(`${path}.attempt`)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a folder that another process clears away while we lock is made again', async () => {
    const path = join(await tempFolder(), 's.jsonl');
    let times = 0;
    const fs: SessionFs = {
      ...nodeSessionFs,
      async mkdir(folder) {
        const first = await nodeSessionFs.mkdir(folder);
        times += 1;
        if (times < 3) await nodeSessionFs.rmdir(folder);
        return first;
      },
    };
    const { transcript } = store(path, { fs });
    await transcript.open(signal);
    await transcript.close();
    expect(await readdir(dirname(path))).toEqual([]);
  });
});

test('a process is told from a later one with its number', async () => {
  expect(isProcessGone(process.pid, processStartTime(process.pid))).toBe(false);
  expect(isProcessGone(process.pid, null)).toBe(false);
  expect(isProcessGone(await deadPid(), null)).toBe(true);
  expect(processStartTime(await deadPid())).toBeNull();
});
