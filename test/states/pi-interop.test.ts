/**
 * Session files between this store and pi's SessionManager, run by a Node of its own because it needs a newer one.
 * Looked for: pi in the folder PI_CODING_AGENT or `.interop/node_modules/@earendil-works/pi-coding-agent`; Node at
 * INTEROP_NODE, `.interop/node_modules/.bin/node`, `.node24/node_modules/.bin/node`, or this very one.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  assistant,
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

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MINIMUM = [22, 19] as const;

function findPi(): string | undefined {
  const candidates = [
    process.env['PI_CODING_AGENT'],
    join(ROOT, '.interop/node_modules/@earendil-works/pi-coding-agent'),
  ];
  return candidates.find((folder) => folder !== undefined && existsSync(join(folder, 'dist/index.js')));
}

function findNode(): string | undefined {
  const candidates = [
    process.env['INTEROP_NODE'],
    join(ROOT, '.interop/node_modules/.bin/node'),
    join(ROOT, '.node24/node_modules/.bin/node'),
    process.execPath,
  ];
  return candidates.find((path) => path !== undefined && existsSync(path) && isNewEnough(path));
}

function isNewEnough(node: string): boolean {
  const [major = 0, minor = 0] = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
    .split('.')
    .map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

const pi = findPi();
const node = findNode();
const missing = [
  pi === undefined ? 'pi (@earendil-works/pi-coding-agent) was not found' : '',
  node === undefined ? `no Node of at least ${MINIMUM.join('.')} was found` : '',
].filter((reason) => reason !== '');
if (missing.length > 0) console.warn(`pi interop skipped: ${missing.join('; ')} (see test/states/pi-interop.test.ts)`);

/** Answers each line, `[body, …args]`, with what `body` returns; loading pi takes a while, so it is done once. */
const PI_PROCESS = `
const { SessionManager } = await import(process.argv[1]);
const { createInterface } = await import('node:readline');
for await (const line of createInterface({ input: process.stdin })) {
  const [body, ...args] = JSON.parse(line);
  const result = new Function('SessionManager', 'args', body)(SessionManager, args);
  process.stdout.write(JSON.stringify(result ?? null) + '\\n');
}
`;

let ask: (body: string, ...args: string[]) => Promise<unknown>;

beforeAll(async () => {
  if (pi === undefined || node === undefined) return;
  const home = await mkdtemp(join(tmpdir(), 'pi-home-'));
  const url = pathToFileURL(join(pi, 'dist/index.js')).href;
  const child = spawn(node, ['--input-type=module', '-e', PI_PROCESS, '--', url], {
    env: { ...process.env, HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const out = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  ask = async (...line) => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
    return JSON.parse(String((await out.next()).value));
  };
  return async () => {
    child.stdin.end();
    await exited;
    await rm(home, { recursive: true, force: true });
  };
});

const PI_CREATES = `
  const [folder] = args;
  const session = SessionManager.create(folder, folder);
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const say = (text) => session.appendMessage({ role: 'assistant', content: [{ type: 'text', text }], api: 'a', provider: 'p', model: 'm', usage, stopReason: 'stop', timestamp: 2 });
  session.appendModelChange('p', 'm');
  const first = session.appendMessage({ role: 'user', content: 'one', timestamp: 1 });
  say('two');
  session.branch(first);
  say('two, another way');
  session.appendCustomEntry('ext', { kept: true });
  session.appendCompaction('summary', first, 100);
  session.appendMessage({ role: 'user', content: [{ type: 'text', text: 'three' }], timestamp: 3 });
  session.appendLabelChange(first, 'mark');
  return { file: session.getSessionFile(), id: session.getSessionId(), leaf: session.getLeafId() };
`;

const PI_READS = `
  const session = SessionManager.open(args[0]);
  const branch = session.getBranch();
  return {
    id: session.getSessionId(), cwd: session.getCwd(), leaf: session.getLeafId(), entries: session.getEntries().length,
    messages: branch.filter((entry) => entry.type === 'message').map((entry) => entry.message),
  };
`;

async function piCreates(folder: string): Promise<{ file: string; id: string; leaf: string }> {
  const made = await ask(PI_CREATES, folder);
  expect(made).toEqual({ file: expect.any(String), id: expect.any(String), leaf: expect.any(String) });
  const { file, id, leaf } = made as { file: string; id: string; leaf: string };
  return { file, id, leaf };
}

async function piReads(file: string): Promise<{ messages: unknown[] }> {
  const seen = await ask(PI_READS, file);
  expect(seen).toMatchObject({ messages: expect.any(Array) });
  return seen as { messages: unknown[] };
}

describe.skipIf(missing.length > 0)('pi', () => {
  test('what it wrote opens here: the branch it shows, with everything else kept; what we add it goes on with', async () => {
    const folder = await tempFolder();
    const made = await piCreates(folder);
    const before = await readFile(made.file, 'utf8');
    const ours = store(made.file);
    expect(await ours.transcript.open(signal)).toEqual({ existed: true, sessionId: made.id, notices: [] });
    expect(await texts(ours)).toEqual(['one', 'two, another way', 'three']);
    await ours.transcript.append([row('p', user('four')), row('r', assistant('five'))]);
    await ours.transcript.close();
    expect((await readFile(made.file, 'utf8')).startsWith(before)).toBe(true);
    expect((await lines(made.file)).at(-2)).toMatchObject({ id: 'e1', parentId: made.leaf });

    const seen = await piReads(made.file);
    expect(seen).toMatchObject({ id: made.id, leaf: 'e2' });
    expect(seen.messages.slice(-2)).toEqual([
      user('four', { idempotencyKey: 'p' }),
      assistant('five', { idempotencyKey: 'r' }),
    ]);
    expect(seen.messages).toHaveLength(5);
    expect((await readdir(folder)).filter((name) => name.endsWith('.attempt'))).toEqual([]);
  });

  test('opens what we wrote and adds to it, in turns with us', async () => {
    const path = await tempSession();
    const ours = await opened(path);
    await ours.transcript.append([row('p', user('one \ud800')), row('r', assistant('two'))]);
    const before = await readFile(path, 'utf8');
    const seen = await piReads(path);
    expect(seen).toEqual({
      id: 'e1',
      cwd: '/somewhere',
      leaf: 'e3',
      entries: 2,
      messages: [user('one \ud800', { idempotencyKey: 'p' }), assistant('two', { idempotencyKey: 'r' })],
    });
    expect(await readFile(path, 'utf8')).toBe(before);
    await ask(`SessionManager.open(args[0]).appendMessage({ role: 'user', content: 'three', timestamp: 3 });`, path);
    expect(await texts(ours)).toEqual(['one \ud800', 'two', 'three']);
    await ours.transcript.append([row('s', assistant('four'))]);
    expect((await piReads(path)).messages).toHaveLength(4);
    expect(await texts(ours)).toEqual(['one \ud800', 'two', 'three', 'four']);
  });

  test('both leave out the same torn line, and neither loses a good one', async () => {
    const path = await tempSession();
    const first = await opened(path);
    await first.transcript.append([row('p', user('one')), row('r', assistant('two'))]);
    await first.transcript.close();
    const whole = await readFile(path);
    await writeFile(path, whole.subarray(0, -10));
    const second = await opened(path);
    expect(await texts(second)).toEqual(['one']);
    await second.transcript.append([row('r', assistant('two'))]);
    expect((await piReads(path)).messages).toHaveLength(2);
    await second.transcript.close();
    await writeFile(path, (await readFile(path)).subarray(0, -1));
    expect((await piReads(path)).messages).toHaveLength(2);
    expect(await texts(await opened(path))).toEqual(['one', 'two']);
  });
});
