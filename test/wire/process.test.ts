import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CodexAppServer, type CodexAppServerOptions, createCodexAppServer } from '../../src/codex/client.ts';
import { STDERR_TAIL_BYTES } from '../../src/codex/stderr-tail.ts';
import type { CodexClient, ServerNotification } from '../../src/ports.ts';
import { FakeClock, realClock } from './fakes/clock.ts';
import { MemoryLogger } from './fakes/logger.ts';
import { alive, failure, fakeCodex, processesNaming, temporaryFolder, until, untilGone } from './fakes/processes.ts';

const signal = new AbortController().signal;

interface Fake {
  server: CodexAppServer;
  folder: string;
  command: string;
  logger: MemoryLogger;
  /** How it was asked to end. */
  asked(): string[];
}

function fake(words = '', options: Partial<CodexAppServerOptions> = {}): Fake {
  const folder = temporaryFolder();
  const command = options.command ?? fakeCodex(folder);
  const log = path.join(folder, 'asked');
  const logger = new MemoryLogger();
  const server = createCodexAppServer({
    cwd: folder,
    env: process.env,
    clientInfo: { name: 'wire-test', title: 'Wire test', version: '1.2.3' },
    clock: realClock,
    logger,
    redact: (text) => text.replaceAll('SECRET', '[redacted]'),
    ...options,
    command,
    extraEnv: { FAKE: words, FAKE_LOG: log, ...options.extraEnv },
  });
  onTestFinished(() => server.close());
  return {
    server,
    folder,
    command,
    logger,
    asked: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  };
}

interface About {
  pid: number;
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  received: unknown[];
}

async function about(client: CodexClient): Promise<About> {
  return (await client.request('about', {})) as About;
}

describe('starting', () => {
  it('introduces us, passes arguments, overrides and folder, and gives version and home', async () => {
    const { server, folder } = fake('', { configOverrides: { model: '"m"', 'a.b': '[1]' }, args: ['--extra', 'x y'] });
    const client = await server.connect(signal);
    expect([client.version, client.codexHome]).toEqual(['0.171.0', '/fake/home']);
    const { argv, cwd, received } = await about(client);
    expect(argv).toEqual(['app-server', '-c', 'model="m"', '-c', 'a.b=[1]', '--extra', 'x y']);
    expect(cwd).toBe(folder);
    expect(received).toEqual([
      {
        id: 1,
        method: 'initialize',
        params: {
          clientInfo: { name: 'wire-test', title: 'Wire test', version: '1.2.3' },
          capabilities: { experimentalApi: true, requestAttestation: false },
        },
      },
      { method: 'initialized', params: {} },
      { id: 2, method: 'about', params: {} },
    ]);
  });

  it('lets through of the environment only what is on the list', async () => {
    const { server } = fake('', {
      env: {
        PATH: process.env['PATH'],
        LC_ALL: 'C',
        https_proxy: 'p',
        AWS_SECRET_ACCESS_KEY: 'x',
        NODE_OPTIONS: '--x',
      },
      codexHome: '/some/home',
      extraEnv: { MY_KEY: 'k' },
    });
    const { env } = await about(await server.connect(signal));
    const ours = Object.keys(env).filter((name) => !['FAKE', 'FAKE_LOG', 'PWD', 'SHLVL', '_', 'OLDPWD'].includes(name));
    expect(ours.sort()).toEqual(['CODEX_HOME', 'LC_ALL', 'MY_KEY', 'PATH', 'https_proxy']);
    expect([env['CODEX_HOME'], env['MY_KEY']]).toEqual(['/some/home', 'k']);
  });

  it('is shared by all who connect meanwhile, and later ones get the same client', async () => {
    const { server } = fake();
    const [a, b] = await Promise.all([server.connect(signal), server.connect(signal)]);
    expect(a).toBe(b);
    expect(await server.connect(signal)).toBe(a);
  });

  it.each([
    ['an absolute path', '/no/such/codex', '/no/such/codex'],
    ['a relative path', './no/codex', path.resolve('no/codex')],
    ['a bare name', 'no-such-codex', 'no-such-codex'],
  ])('names a missing binary and the ways out, for %s', async (_, command, named) => {
    const { server } = fake('', { command });
    expect(await failure(server.connect(signal))).toEqual({
      name: 'AttemptError',
      code: 'codex_not_found',
      message:
        `There is no codex at ${named}: set CODEX_PATH to a codex binary, ` +
        'or install the one this package uses with `npm i @openai/codex`.',
      data: { path: named },
    });
  });

  it('finds a bare name in PATH', async () => {
    const folder = temporaryFolder();
    fakeCodex(folder);
    const { server } = fake('', { command: 'codex', env: { PATH: `${folder}:${process.env['PATH']}` } });
    expect((await server.connect(signal)).version).toBe('0.171.0');
  });

  const unrunnable: Record<string, (file: string) => Partial<CodexAppServerOptions>> = {
    'a script whose interpreter is missing': (file) => {
      writeFileSync(file, '#!/no/such/interpreter\n');
      chmodSync(file, 0o755);
      return {};
    },
    'an argument that no system call takes': (file) => {
      writeFileSync(file, '#!/bin/sh\n');
      return { args: ['a\0b'] };
    },
  };

  it.each(Object.keys(unrunnable))('says that the binary cannot be run, for %s', async (what) => {
    const command = path.join(temporaryFolder(), 'codex');
    const { server } = fake('', { ...unrunnable[what]?.(command), command });
    const { code, message } = await failure(server.connect(signal));
    expect(code).toBe('codex_crashed');
    expect(message).toContain(`${command} could not be run: `);
  });

  it.each([
    ['a file without the right to run it', (file: string) => writeFileSync(file, '#!/bin/sh\n'), 'is not executable'],
    ['a folder', (file: string) => void mkdirSync(file), 'is a folder, not a codex binary'],
  ])('names the ways out for %s', async (_, make, why) => {
    const command = path.join(temporaryFolder(), 'codex');
    make(command);
    const { server } = fake('', { command });
    expect(await failure(server.connect(signal))).toEqual({
      name: 'AttemptError',
      code: 'codex_not_found',
      message:
        `${command} ${why}: set CODEX_PATH to a codex binary, ` +
        'or install the one this package uses with `npm i @openai/codex`.',
      data: { path: command },
    });
  });

  const versioned = (version: string): string => {
    const command = path.join(temporaryFolder(), 'codex');
    const script = `#!/bin/sh\n[ "$1" = --version ] && echo "codex-cli ${version}" && exit 0\necho 'error: unrecognized subcommand' >&2\nexit 1\n`;
    writeFileSync(command, script, { mode: 0o755 });
    return command;
  };

  it('says that a binary without an app-server is too old, when it says so itself', async () => {
    const command = versioned('0.20.0');
    const { server } = fake('', { command });
    expect(await failure(server.connect(signal))).toMatchObject({
      code: 'codex_too_old',
      data: { found: '0.20.0', needed: '0.154.0' },
    });
  });

  it('names the version of a binary that should have an app-server', async () => {
    const command = versioned('0.171.0');
    const { server } = fake('', { command });
    expect(await failure(server.connect(signal))).toMatchObject({
      code: 'codex_crashed',
      message:
        `${command} (it reports version 0.171.0) did not start as an app-server: codex app-server ended with code 1. ` +
        'It wrote on stderr:\nerror: unrecognized subcommand',
    });
  });

  it('names a working directory that is missing', async () => {
    const { server } = fake('', { cwd: '/no/such/folder' });
    expect(await failure(server.connect(signal))).toMatchObject({
      code: 'app_server_not_ready',
      message: 'The working directory /no/such/folder does not exist.',
    });
  });

  it('quotes exit code and what tells most on stderr, clean and redacted, of one that dies first', async () => {
    const { server, command } = fake('exit');
    expect(await failure(server.connect(signal))).toEqual({
      name: 'AttemptError',
      code: 'codex_crashed',
      message:
        `${command} did not start as an app-server: codex app-server ended with code 3. It wrote on stderr:\n` +
        'ERROR key [redacted]',
      data: { exitCode: 3, signal: null },
    });
  });

  it('names the signal of one that is killed first', async () => {
    const { server, command } = fake('signal');
    expect(await failure(server.connect(signal))).toMatchObject({
      code: 'codex_crashed',
      message: `${command} did not start as an app-server: codex app-server was killed by SIGKILL`,
      data: { exitCode: null, signal: 'SIGKILL' },
    });
  });

  it.each([
    ['garbage', '"Usage: [redacted]" ('],
    ['array', '"[1]" (not a JSON object)'],
  ])('quotes what was written instead of the protocol: %s', async (words, quoted) => {
    const { server, command } = fake(words);
    const { code, message } = await failure(server.connect(signal));
    expect(code).toBe('codex_crashed');
    expect(message).toContain(`${command} did not start as an app-server: it wrote ${quoted}`);
    expect(message).toContain('; codex app-server ended with code 0');
  });

  it.each([
    ['refuse', 'refused initialize: no [redacted] for you'],
    ['nameless', 'answered initialize without a version and a home folder'],
    ['foreign', 'answered initialize without a version and a home folder'],
  ])('says what was wrong with the answer to initialize: %s', async (words, text) => {
    const { server, command } = fake(words);
    expect(await failure(server.connect(signal))).toMatchObject({
      code: 'codex_crashed',
      message: `${command} ${text}`,
    });
  });

  it('gives up on one that stays silent, and leaves no process', async () => {
    const clock = new FakeClock();
    const { server, command, asked } = fake('silent ignore-eof ignore-term', { clock });
    const connecting = failure(server.connect(signal));
    await until(() => asked().includes('initialize'));
    clock.advance(30_000);
    await until(() => asked().includes('eof'));
    clock.advance(1_000);
    await until(() => asked().includes('term'));
    clock.advance(1_000);
    expect(await connecting).toMatchObject({
      code: 'app_server_silent',
      message: `${command} did not answer initialize in time`,
    });
    expect([asked(), processesNaming(command), clock.pending]).toEqual([['initialize', 'eof', 'term'], [], 0]);
  });

  it.each(['0.153.9', '0.153.99', '0.99.0', '0.0.1'])('refuses %s as too old and leaves no process', async (found) => {
    const { server, command, asked } = fake('', { extraEnv: { FAKE_VERSION: found } });
    expect(await failure(server.connect(signal))).toEqual({
      name: 'AttemptError',
      code: 'codex_too_old',
      message:
        `codex ${found} (${command}) is too old: 0.154.0 or newer is needed. Update it with ` +
        '`npm i -g @openai/codex@latest`, or unset CODEX_PATH to use the one that comes with this package.',
      data: { found, needed: '0.154.0', command },
    });
    expect(asked()).toEqual(['eof']);
  });

  it.each(['0.154.0', '0.160.3-alpha.1', '0.171.0'])('takes %s without a word', async (version) => {
    const { server, logger } = fake('', { extraEnv: { FAKE_VERSION: version } });
    expect((await server.connect(signal)).version).toBe(version.replace('-alpha.1', ''));
    expect(logger.lines).toEqual([]);
  });

  it.each(['0.171.1', '0.200.0', '1.0.0'])('warns once that %s is newer than what was tested', async (version) => {
    const { server, logger } = fake('', { extraEnv: { FAKE_VERSION: version } });
    await (await server.connect(signal)).close();
    await server.connect(signal);
    expect(logger.of('warn')).toEqual([`codex ${version} is newer than 0.171.0, the newest version that was tested`]);
  });

  it.each(['exit', 'signal', 'garbage', 'refuse'])('can be tried again after a failure: %s', async (words) => {
    const once = path.join(temporaryFolder(), 'once');
    const { server } = fake(words, { extraEnv: { FAKE_ONCE: once } });
    await failure(server.connect(signal));
    expect(await (await server.connect(signal)).request('echo', { again: true })).toEqual({ again: true });
  });

  it('does not happen for a signal that is aborted already', async () => {
    const { server, command } = fake();
    const { code } = await failure(server.connect(AbortSignal.abort()));
    expect([code, processesNaming(command)]).toEqual(['aborted', []]);
  });

  it('is not awaited by one who gives up, and goes on for the others', async () => {
    const { server } = fake();
    const controller = new AbortController();
    const impatient = failure(server.connect(controller.signal));
    const patient = server.connect(signal);
    controller.abort();
    expect(await impatient).toMatchObject({ code: 'aborted' });
    expect(await (await patient).request('echo', { a: 1 })).toEqual({ a: 1 });
  });

  it('that is closed meanwhile rejects and leaves no process', async () => {
    const { server, command, asked } = fake('silent');
    const connecting = failure(server.connect(signal));
    await until(() => asked().includes('initialize'));
    await server.close();
    expect(await connecting).toMatchObject({
      code: 'app_server_not_ready',
      message: 'codex app-server was closed while it started',
    });
    expect([asked(), processesNaming(command)]).toEqual([['initialize', 'eof'], []]);
  });

  it('that is closed before it began rejects and starts nothing', async () => {
    const { server, command } = fake('ignore-eof', { budgets: { close: 200 } });
    const first = await server.connect(signal);
    const ending = first.close();
    const connecting = failure(server.connect(signal));
    await server.close();
    await ending;
    expect(await connecting).toMatchObject({
      code: 'app_server_not_ready',
      message: 'codex app-server was closed before it started',
    });
    expect(processesNaming(command)).toEqual([]);
  });
});

describe('living', () => {
  const deaths: Record<string, { method: string; params: Record<string, unknown>; exit: unknown }> = {
    'kill -9': {
      method: 'signal',
      params: { signal: 'SIGKILL' },
      exit: { code: null, signal: 'SIGKILL', message: 'codex app-server was killed by SIGKILL' },
    },
    'SIGTERM from outside': {
      method: 'signal',
      params: { signal: 'SIGTERM' },
      exit: { code: null, signal: 'SIGTERM', message: 'codex app-server was killed by SIGTERM' },
    },
    'an exit with an error': {
      method: 'exit',
      params: { code: 101 },
      exit: { code: 101, signal: null, message: 'codex app-server ended with code 101' },
    },
    'an exit without one': {
      method: 'exit',
      params: { code: 0 },
      exit: { code: 0, signal: null, message: 'codex app-server ended with code 0' },
    },
  };

  const PANIC = "It wrote on stderr:\nthread 'main' panicked at app/src/x.rs:1:2:\nboom [redacted]";
  it.each([
    ['a panic, not of its backtrace', 'panic', {}, `codex app-server ended with code 101. ${PANIC}`],
    ['a panic that aborts', 'panic', { signal: 'SIGABRT' }, `codex app-server was killed by SIGABRT. ${PANIC}`],
    ['a panic before the kill', 'panic', { signal: 'SIGKILL' }, `codex app-server was killed by SIGKILL. ${PANIC}`],
    ['a kill, not of the start', 'signal', { signal: 'SIGKILL' }, 'codex app-server was killed by SIGKILL'],
  ])('tells at its end of %s', async (_, method, params, message) => {
    const { server } = fake('notices');
    const client = await server.connect(signal);
    const last = failure(client.request(method, params));
    expect((await client.exited).message).toBe(message);
    expect((await last).code).toBe('app_server_exited');
  });

  it.each(Object.keys(deaths))(
    'ends by %s: requests reject, exited resolves, the next connect is fresh',
    async (how) => {
      const { server, asked } = fake();
      const death = deaths[how];
      const client = await server.connect(signal);
      const { pid } = await about(client);
      const waiting = failure(client.request('never answered', {}, { timeoutMs: Infinity }));
      const last = failure(client.request(death?.method ?? '', death?.params ?? {}));
      expect((await waiting).code).toBe('app_server_exited');
      expect((await last).code).toBe('app_server_exited');
      expect(await client.exited).toEqual(death?.exit);
      expect(await failure(client.request('echo', {}))).toMatchObject({
        code: 'app_server_exited',
        message: `echo was not answered: ${(await client.exited).message}`,
      });
      await Promise.all([client.close(), client.retire()]);
      const next = await server.connect(signal);
      expect(next).not.toBe(client);
      expect((await about(next)).pid).not.toBe(pid);
      expect(asked()).toEqual([]);
    },
  );

  it.each([10, 100_000, 5_000_000])('last words of %i characters arrive before exited resolves', async (size) => {
    const { server } = fake();
    const client = await server.connect(signal);
    const order: unknown[] = [];
    client.onNotification(({ method, params }: ServerNotification) =>
      order.push([method, String(params['text']).length]),
    );
    const gone = client.exited.then(() => order.push('exited'));
    await failure(client.request('lastWords', { size }));
    await gone;
    expect(order).toEqual([['last/words', size], 'exited']);
  });

  it.each(['closeOutput', 'closeInput'])('that can no longer be talked to is ended: %s', async (method) => {
    const { server } = fake('ignore-eof', { budgets: { close: 100 } });
    const client = await server.connect(signal);
    const { pid } = await about(client);
    const waiting = failure(client.request(method, {}));
    // A closed input shows when something is written to it.
    const next = client.request('echo', { fill: 'x'.repeat(1_000_000) }).catch((error: unknown) => error);
    expect(await client.exited).toMatchObject({ signal: 'SIGTERM' });
    expect([(await waiting).code, alive(pid)]).toEqual(['app_server_exited', false]);
    expect(await next).toMatchObject({ code: 'app_server_exited' });
    expect(await (await server.connect(signal)).request('echo', { a: 1 })).toEqual({ a: 1 });
  });

  it('takes 50 MB of stderr before and after the start', async () => {
    const { server } = fake('flood');
    const client = await server.connect(signal);
    expect(await client.request('flood', { megabytes: 50 })).toEqual({});
    await client.close();
    const { code, message } = await client.exited;
    expect([code, message.length]).toEqual([0, expect.any(Number)]);
    expect(message.length).toBeLessThan(STDERR_TAIL_BYTES + 200);
  });

  it('carries text of every kind and a line of megabytes', async () => {
    const { server } = fake();
    const client = await server.connect(signal);
    const text = 'é漢👨‍👩‍👧𝄞\u2028\u2029\u0085\r\n"\\'.repeat(300_000);
    expect(await client.request('echo', { text })).toEqual({ text });
  });

  it('warns of a line that is no JSON without quoting it', async () => {
    const { server, logger } = fake();
    const client = await server.connect(signal);
    expect(await client.request('garble', {})).toEqual({});
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'codex app-server wrote a line that is not JSON', fields: { bytes: 18 } },
    ]);
  });
});

describe('ending', () => {
  it.each([
    ['', ['eof'], { code: 0, signal: null }],
    ['ignore-eof', ['eof'], { code: null, signal: 'SIGTERM' }],
    ['ignore-eof ignore-term', ['eof', 'term'], { code: null, signal: 'SIGKILL' }],
  ])('goes from closing the input to TERM to KILL: %j', async (words, ways, how) => {
    const clock = new FakeClock();
    const { server, asked } = fake(words, { clock });
    const client = await server.connect(signal);
    const { pid } = await about(client);
    const waiting = failure(client.request('never answered', {}, { timeoutMs: Infinity }));
    const closing = client.close();
    for (const way of ways) {
      await until(() => asked().includes(way));
      expect(words === '' || alive(pid)).toBe(true);
      if (words !== '') clock.advance(1_000);
    }
    await closing;
    expect([alive(pid), asked()]).toEqual([false, ways]);
    expect(await client.exited).toMatchObject(how);
    expect((await waiting).code).toBe('app_server_exited');
    expect(clock.pending).toBe(0);
  });

  it('is given up for a process that even KILL does not end', async () => {
    const clock = new FakeClock();
    const { server, logger } = fake('', { clock });
    const client = await server.connect(signal);
    const { pid } = await about(client);
    const ending = client.retire();
    // The exit is there, but cannot have been seen yet.
    clock.advance(1_000);
    await ending;
    expect(await client.exited).toEqual({
      code: null,
      signal: null,
      message: 'codex app-server did not end after SIGKILL',
    });
    expect(logger.lines).toEqual([{ level: 'error', message: 'codex app-server did not end', fields: { pid } }]);
    expect(clock.pending).toBe(0);
    await untilGone(pid);
  });

  it('refuses requests from the moment it begins', async () => {
    const { server } = fake('ignore-eof', { budgets: { close: 100 } });
    const client = await server.connect(signal);
    const closing = client.close();
    await Promise.resolve();
    expect((await failure(client.request('echo', {}))).code).toBe('app_server_exited');
    await closing;
  });

  it('at once is KILL, also for one that would not go otherwise', async () => {
    const { server, asked } = fake('ignore-eof ignore-term', { budgets: { close: 60_000 } });
    const client = await server.connect(signal);
    const { pid } = await about(client);
    await client.retire();
    expect([alive(pid), asked().filter((line) => line === 'term')]).toEqual([false, []]);
    expect(await client.exited).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  it('at once cuts an orderly end short', async () => {
    const { server } = fake('ignore-eof ignore-term', { budgets: { close: 60_000 } });
    const client = await server.connect(signal);
    await Promise.all([client.close(), server.close(), client.retire(), client.retire()]);
    expect(await client.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  it('may come before any start, twice, and be followed by a fresh start', async () => {
    const { server } = fake();
    await server.close();
    const first = await server.connect(signal);
    await Promise.all([server.close(), server.close()]);
    await server.close();
    const second = await server.connect(signal);
    expect(second).not.toBe(first);
    expect(await second.request('echo', { a: 1 })).toEqual({ a: 1 });
  });

  it('is over before the next process starts', async () => {
    const { server } = fake('ignore-eof', { budgets: { close: 200 } });
    const first = await server.connect(signal);
    const { pid } = await about(first);
    const closing = first.close();
    const second = await server.connect(signal);
    expect(alive(pid)).toBe(false);
    expect((await about(second)).pid).not.toBe(pid);
    await closing;
  });

  const ends: Record<string, (client: CodexClient, pid: number) => unknown> = {
    'an orderly end': (client) => client.close(),
    'an end at once': (client) => client.retire(),
    'a kill -9': (_, pid) => process.kill(pid, 'SIGKILL'),
  };

  it.each(Object.keys(ends))('takes the children of its process group along: %s', async (how) => {
    const { server } = fake();
    const client = await server.connect(signal);
    const { pid } = await about(client);
    const child = (await client.request('child', { detached: false })) as { pid: number };
    expect(alive(child.pid)).toBe(true);
    await ends[how]?.(client, pid);
    await client.exited;
    await untilGone(child.pid);
  });

  it.each(Object.keys(ends))('does not wait for a stranger that holds its pipes: %s', async (how) => {
    const { server } = fake();
    const client = await server.connect(signal);
    const { pid } = await about(client);
    const stranger = (await client.request('child', { detached: true })) as { pid: number };
    onTestFinished(() => void process.kill(stranger.pid, 'SIGKILL'));
    await ends[how]?.(client, pid);
    await client.exited;
    expect([alive(pid), alive(stranger.pid)]).toEqual([false, true]);
  });
});
