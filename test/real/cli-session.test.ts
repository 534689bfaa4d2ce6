import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliBench, ndjson, openBench, SESSION_TEXT, settledOf } from '../support/cli.ts';

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  await bench.close();
});

describe('show', () => {
  it('prints the conversation and what is pending, and writes nothing', async () => {
    await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
    const end = await bench.run(['show', '--session', 'session.jsonl']);
    expect(end).toEqual({
      code: 0,
      signal: null,
      stdout: [
        '[user]',
        'first question',
        '',
        '[assistant]',
        'first answer',
        '',
        `session: ${bench.at('session.jsonl')}, 2 message(s)`,
        'threads: none',
        'open turn: none',
        'turns that the engine has not taken yet: 0',
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(await readdir(bench.folder)).toEqual(['codex-home', 'session.jsonl']);
  });

  it('--json has entries, bindings, journal and outbox', async () => {
    await bench.run(['run', '--rehearse', '--session', 'session.jsonl', 'hello']);
    const end = await bench.run(['show', '--json', '--session', 'session.jsonl']);
    expect(ndjson(end.stdout)).toEqual([
      {
        type: 'session',
        sessionFile: bench.at('session.jsonl'),
        entries: [
          expect.objectContaining({ message: expect.objectContaining({ role: 'user' }) }),
          expect.objectContaining({ message: expect.objectContaining({ role: 'assistant', provider: 'rehearsal' }) }),
        ],
        bindings: { live: null, rehearsal: expect.objectContaining({ realm: 'rehearsal' }) },
        journal: null,
        outbox: [],
      },
    ]);
  });

  it.each(['show', 'reset'])('%s: what is not a session is exit 2 and stays', async (command) => {
    await writeFile(bench.at('notes.txt'), 'milk\nbread\n');
    await mkdir(bench.at('folder'));
    for (const [name, part] of [
      ['notes.txt', 'notes.txt'],
      ['folder', 'folder'],
    ] as const) {
      const end = await bench.run([command, '--session', name]);
      expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(part) });
    }
    expect(await readFile(bench.at('notes.txt'), 'utf8')).toBe('milk\nbread\n');
  });
});

describe('reset', () => {
  it('archives the session, forgets the thread and tells the engine', async () => {
    await writeFile(
      bench.at('probe.mjs'),
      `import { appendFileSync } from 'node:fs';
      const engine = { info: { id: 'probe', name: 'Probe' }, ingest() {}, assemble: ({ messages }) => ({ messages }),
        compact: () => ({ ok: true, compacted: false }) };
      export default { id: 'probe', register(api) {
        api.registerContextEngine('probe', () => engine);
        for (const name of ['before_reset', 'session_end']) api.on(name, (event) =>
          appendFileSync(${JSON.stringify(bench.at('told.ndjson'))}, JSON.stringify({ name, ...event }) + '\\n'));
      } };`,
    );
    const run = ['run', '--rehearse', '--json', '--session', 'session.jsonl', '--engine', './probe.mjs'];
    const first = ndjson((await bench.run([...run, 'one'])).stdout).at(-1);
    const before = await readFile(bench.at('session.jsonl'), 'utf8');

    const end = await bench.run(['reset', '--json', '--session', 'session.jsonl', '--engine', './probe.mjs']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const [reset] = ndjson(end.stdout);
    expect(reset).toMatchObject({ type: 'session.reset', sessionFile: bench.at('session.jsonl'), failures: [] });
    expect(await readFile(String(reset?.['archivedTo']), 'utf8')).toBe(before);
    expect(await readdir(bench.folder)).not.toContain('session.jsonl');
    const session = { sessionId: first?.['sessionId'], sessionKey: first?.['sessionId'], reason: 'reset' };
    expect(ndjson(await readFile(bench.at('told.ndjson'), 'utf8'))).toEqual([
      expect.objectContaining({ name: 'before_reset', ...session, messages: expect.any(Array) }),
      expect.objectContaining({ name: 'session_end', ...session, messageCount: 2 }),
    ]);

    const second = ndjson((await bench.run([...run, 'two'])).stdout).at(-1);
    expect(second).toMatchObject({ outcome: 'completed' });
    expect(second?.['threadId']).not.toBe(first?.['threadId']);
    expect(second?.['sessionId']).not.toBe(first?.['sessionId']);
  });
});

describe('a session file that is not what it was', () => {
  const run = (session: string, ...args: string[]) =>
    bench.run(['run', '--rehearse', '--json', '--session', session, ...args]);

  it('another session in its place goes on with its own conversation, on a new thread', async () => {
    const first = settledOf(await run('a.jsonl', 'SAID IN A'));
    const other = settledOf(await run('b.jsonl', 'SAID IN B'));
    await copyFile(bench.at('b.jsonl'), bench.at('a.jsonl'));
    const end = await run('a.jsonl', '--record-requests', 'requests.ndjson', 'and now?');
    expect(settledOf(end)).toMatchObject({ outcome: 'completed', sessionId: other['sessionId'] });
    expect(settledOf(end)['threadId']).not.toBe(first['threadId']);
    expect(end.stderr).toContain('another conversation than the one its thread belongs to: a new thread is started');
    const request = await readFile(bench.at('requests.ndjson'), 'utf8');
    expect(request).toContain('SAID IN B');
    expect(request).not.toContain('SAID IN A');
    const next = await run('a.jsonl', 'again');
    expect(next.stderr).toBe('');
    expect(settledOf(next)['threadId']).toBe(settledOf(end)['threadId']);
  });

  it('rows that were taken out are not remembered by the thread', async () => {
    await run('a.jsonl', 'KEPT');
    const kept = await readFile(bench.at('a.jsonl'), 'utf8');
    const second = settledOf(await run('a.jsonl', 'TAKEN OUT'));
    await writeFile(bench.at('a.jsonl'), kept);
    const end = await run('a.jsonl', '--record-requests', 'requests.ndjson', 'and now?');
    expect(settledOf(end)['threadId']).not.toBe(second['threadId']);
    const request = await readFile(bench.at('requests.ndjson'), 'utf8');
    expect(request).toContain('KEPT');
    expect(request).not.toContain('TAKEN OUT');
  });

  it('a link that leads nowhere makes the session where it leads to; both names are one session', async () => {
    await mkdir(bench.at('far'));
    await symlink('far/a.jsonl', bench.at('link.jsonl'));
    const first = await run('link.jsonl', 'one');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const second = await run('far/a.jsonl', 'two');
    expect(settledOf(second)['threadId']).toBe(settledOf(first)['threadId']);
    const [shown] = ndjson((await bench.run(['show', '--json', '--session', 'link.jsonl'])).stdout);
    expect(shown?.['entries']).toHaveLength(4);
    expect((await readdir(bench.at('far'))).sort()).toEqual(['a.jsonl', 'a.jsonl.attempt']);
    expect(await readdir(bench.folder)).not.toContain('link.jsonl.attempt');
  });

  it('a side file that makes no sense is told by run, and left alone by show', async () => {
    await run('a.jsonl', 'one');
    const folder = bench.at('a.jsonl.attempt');
    await writeFile(bench.at('a.jsonl.attempt', 'rehearsal', 'binding.json'), '{');
    await writeFile(bench.at('a.jsonl.attempt', 'journal.json'), 'garbage');
    const before = (await readdir(folder, { recursive: true })).sort();
    expect(await bench.run(['show', '--session', 'a.jsonl'])).toMatchObject({ code: 0 });
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(before);
    const end = await run('a.jsonl', 'two');
    expect(end.code).toBe(0);
    for (const name of ['rehearsal/binding.json.bad', 'journal.json.bad']) {
      expect(end.stderr).toContain(`set aside as ${bench.at('a.jsonl.attempt', name)}`);
    }
  });
});

describe('a place where no session can be', () => {
  it.skipIf(process.platform !== 'linux')('is named with the way out, and not tried for ever', async () => {
    const named = await bench.run(['run', '--rehearse', '--session', '/proc/x.jsonl', 'hello']);
    expect(named).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\/proc\/x\.jsonl\.attempt.*--session FILE/s),
    });
    const unnamed = await bench.run(['run', '--rehearse', 'hello'], { env: { CODEX_ATTEMPT_HOME: '/proc/home' } });
    expect(unnamed).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\/proc\/home.*--session FILE.*CODEX_ATTEMPT_HOME/s),
    });
  });

  it('links in a circle are named', async () => {
    await symlink('b.jsonl', bench.at('a.jsonl'));
    await symlink('a.jsonl', bench.at('b.jsonl'));
    for (const args of [['run', '--rehearse'], ['show'], ['reset']]) {
      const end = await bench.run([...args, '--session', 'a.jsonl', ...(args[0] === 'run' ? ['hello'] : [])]);
      expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining(bench.at('a.jsonl')) });
    }
  });
});

describe('doctor', () => {
  const findings = (text: string): Record<string, string> => {
    const [report] = ndjson(text) as [{ findings: { name: string; status: string }[] }];
    return Object.fromEntries(report.findings.map(({ name, status }) => [name, status]));
  };

  it('without an account: credentials are missing, with the way to get them', async () => {
    const end = await bench.run(['doctor', '--json', '--engine', 'example']);
    expect(end.code).toBe(1);
    expect(findings(end.stdout)).toEqual({
      version: 'ok',
      node: 'ok',
      codex: 'ok',
      credentials: 'missing',
      'codex-home': 'ok',
      'attempt-home': 'ok',
      engine: 'ok',
    });
    expect(end.stdout).toContain('codex login');
  });

  it('with a key all is well', async () => {
    const end = await bench.run(['doctor'], { env: { CODEX_API_KEY: 'sk-loopback-0123456789' } });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout.split('\n').map((line) => line.slice(0, 21).trimEnd())).toEqual([
      'ok      version',
      'ok      node',
      'ok      codex',
      'ok      credentials',
      'ok      codex-home',
      'ok      attempt-home',
      '',
    ]);
    expect(end.stdout).not.toContain('sk-loopback');
  });

  it('names a binary, a home and an engine that are not there', async () => {
    await writeFile(bench.at('file'), '');
    const env = {
      CODEX_PATH: './no-codex',
      CODEX_HOME: bench.at('no-home'),
      CODEX_ATTEMPT_HOME: bench.at('file', 'home'),
    };
    const end = await bench.run(['doctor', '--json', '--engine', './none.mjs'], { env });
    expect(end.code).not.toBe(0);
    expect(findings(end.stdout)).toEqual({
      version: 'ok',
      node: 'ok',
      codex: 'missing',
      'codex-home': 'missing',
      'attempt-home': 'missing',
      engine: 'missing',
    });
    for (const name of ['no-codex', 'CODEX_PATH', 'mkdir -p', 'none.mjs']) expect(end.stdout).toContain(name);
  });
});
