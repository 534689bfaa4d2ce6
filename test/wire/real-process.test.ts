import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveCodexCommand } from '../../src/codex/binary.ts';
import { type CodexAppServer, type CodexAppServerOptions, createCodexAppServer } from '../../src/codex/client.ts';
import { realClock } from './fakes/clock.ts';
import { MemoryLogger } from './fakes/logger.ts';
import { failure, fakeCodex, processesNaming, temporaryFolder, untilGone } from './fakes/processes.ts';

const signal = new AbortController().signal;

describe('a program that uses the client', () => {
  function host(command: string, then: 'close' | 'stay') {
    const home = temporaryFolder();
    const script = fileURLToPath(new URL('./fakes/host.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'jiti/register', script, command, home, then], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  const commands: Record<string, () => string> = {
    'the fake': () => fakeCodex(temporaryFolder()),
    'the real binary': () => resolveCodexCommand().file,
  };

  it.each(Object.keys(commands))('ends by itself once it has closed %s', async (which) => {
    const child = host(commands[which]?.() ?? '', 'close');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.each(Object.keys(commands))('takes %s along when it is killed (BL-46)', async (which) => {
    const child = host(commands[which]?.() ?? '', 'stay');
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    expect(ready.toString()).toMatch(/^ready 0\.171\.0/);
    const [server] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    expect(server).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await untilGone(server ?? 0);
  });
});

describe('the real binary', () => {
  function real(options: Partial<CodexAppServerOptions> = {}): {
    server: CodexAppServer;
    home: string;
    logger: MemoryLogger;
  } {
    const home = temporaryFolder();
    const logger = new MemoryLogger();
    const server = createCodexAppServer({
      cwd: home,
      codexHome: home,
      env: process.env,
      clientInfo: { name: 'wire-test', title: null, version: '1.2.3' },
      clock: realClock,
      logger,
      ...options,
    });
    onTestFinished(() => server.close());
    return { server, home, logger };
  }

  it('is the native one of the pinned package', () => {
    const { file, args } = resolveCodexCommand();
    expect([path.basename(file), args]).toEqual(['codex', []]);
    expect(readFileSync(file).subarray(1, 4).toString()).toBe('ELF');
  });

  it('shakes hands, takes the overrides, and ends in order with no process left', async () => {
    const { server, home, logger } = real({
      configOverrides: { model: '"overridden"', 'features.shell_tool': 'false' },
    });
    const client = await server.connect(signal);
    expect([client.version, client.codexHome]).toEqual(['0.171.0', home]);
    expect(await client.request('config/read', {})).toMatchObject({
      config: { model: 'overridden', features: { shell_tool: false } },
    });
    expect(processesNaming('model="overridden"')).toHaveLength(1);
    await server.close();
    expect(await client.exited).toMatchObject({ code: 0, signal: null });
    expect(processesNaming('model="overridden"')).toEqual([]);
    expect(logger.lines).toEqual([]);
  });

  it('refuses what it does not know, by an error of the wire', async () => {
    const client = await real().server.connect(signal);
    await expect(client.request('nope/nope', {})).rejects.toMatchObject({
      name: 'RpcError',
      code: -32600,
      method: 'nope/nope',
      message: expect.stringContaining('unknown variant `nope/nope`'),
    });
  });

  it('answers more requests at once than it would take by itself', async () => {
    const client = await real().server.connect(signal);
    const answers = await Promise.all(Array.from({ length: 600 }, () => client.request('model/list', { limit: 1 })));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it.each([
    ['U+2028 and U+2029', 'a\u2028b\u2029c', 'a\u2028b\u2029c'],
    ['multi-byte text', 'é漢👨‍👩‍👧𝄞', 'é漢👨‍👩‍👧𝄞'],
    ['half a surrogate pair', 'a\ud83d b', 'a\ufffd b'],
    ['a text of a megabyte', '漢x'.repeat(300_000), '漢x'.repeat(300_000)],
  ])('keeps %s through a thread', async (_, name, kept) => {
    const client = await real().server.connect(signal);
    const { thread } = (await client.request('thread/start', {})) as { thread: { id: string } };
    await client.request('thread/name/set', { threadId: thread.id, name });
    expect(await client.request('thread/read', { threadId: thread.id })).toMatchObject({ thread: { name: kept } });
  });

  it('killed in the middle rejects what waits, and the next connect is a fresh one on the same home', async () => {
    const { server } = real({ configOverrides: { model: '"killed"' } });
    const client = await server.connect(signal);
    const [pid = 0] = processesNaming('model="killed"');
    // It reads nothing from here on, so every request is under way or waits when it dies.
    process.kill(pid, 'SIGSTOP');
    const waiting = Array.from({ length: 150 }, () => failure(client.request('model/list', {})));
    process.kill(pid, 'SIGKILL');
    expect(new Set((await Promise.all(waiting)).map(({ code }) => code))).toEqual(new Set(['app_server_exited']));
    expect(await client.exited).toMatchObject({ code: null, signal: 'SIGKILL' });
    const next = await server.connect(signal);
    expect(next).not.toBe(client);
    expect(await next.request('config/read', {})).toMatchObject({ config: { model: 'killed' } });
  });

  it('is not blocked by its own trace on stderr', async () => {
    const client = await real({ extraEnv: { RUST_LOG: 'trace' } }).server.connect(signal);
    for (let i = 0; i < 5; i += 1) await client.request('thread/start', { ephemeral: true });
    await client.retire();
    expect(await client.exited).toMatchObject({ signal: 'SIGKILL' });
  });
});
