import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RehearsalModel, startRehearsalModel } from '../../src/rehearsal/index.ts';
import {
  CLI_MAIN,
  type CliBench,
  fileHolds,
  ndjson,
  openBench,
  SESSION_TEXT,
  settledOf,
  writeProvider,
} from '../support/cli.ts';

const ALL_STATES = [
  'bootstrap',
  'assembling',
  'projecting',
  'hook-build',
  'thread-start',
  'turning',
  'mirroring',
  'finalizing',
  'maintaining',
  'completed',
];

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  await bench.close();
});

const rehearse = (...args: string[]): string[] => ['run', '--rehearse', '--session', 'session.jsonl', ...args];
const stalling = (...args: string[]): string[] => [
  'run',
  '--rehearse-script',
  'stall.json',
  '--session',
  'session.jsonl',
  ...args,
];
const writeStall = (): Promise<void> =>
  writeFile(bench.at('stall.json'), JSON.stringify({ steps: [{ text: 'half an answer', stall: 'mid' }] }));

/** An engine that keeps nothing; `more` are further members. */
const engineSource = (more: string, info = ''): string => `export default {
  info: { id: 'probe', name: 'Probe' ${info} },
  ingest() {}, assemble({ messages }) { return { messages }; }, compact() { return { ok: true, compacted: false }; },
  ${more}
};`;

describe('run', () => {
  it('--json is NDJSON that ends with attempt.settled, states in order', async () => {
    const end = await bench.run(rehearse('--json', '--engine', 'example', 'text'));
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const events = ndjson(end.stdout);
    expect(events.at(-1)).toEqual({
      type: 'attempt.settled',
      attemptId: expect.any(String),
      outcome: 'completed',
      states: ALL_STATES,
      text: 'Rehearsal answer to: "text". No model was asked.',
      sessionFile: bench.at('session.jsonl'),
      sessionId: expect.any(String),
      threadId: expect.any(String),
      turnId: expect.any(String),
      usage: {
        inputTokens: expect.any(Number),
        cachedInputTokens: 0,
        outputTokens: expect.any(Number),
        reasoningOutputTokens: 0,
        totalTokens: expect.any(Number),
      },
      degraded: [],
      finalization: { method: 'commitTurn', ok: true },
      maintenance: { ran: true, mode: 'foreground' },
      replaySafe: true,
      deniedApprovals: [],
    });
    const types = events.map((event) => event['type']);
    expect(types.filter((type) => type === 'attempt.settled')).toHaveLength(1);
    const codex = types.filter((type) => !String(type).startsWith('attempt.') && type !== 'item.delta');
    expect(codex).toEqual(['thread.started', 'turn.started', 'item.completed', 'turn.completed']);
    const told = events.filter((event) => event['type'] === 'attempt.state').map((event) => event['state']);
    expect(told.filter((state, index) => state !== told[index - 1])).toEqual(ALL_STATES);
  });

  it('stdout has the answer alone; a second run resumes the thread', async () => {
    const first = await bench.run(rehearse('one'));
    expect(first).toMatchObject({ code: 0, stdout: 'Rehearsal answer to: "one". No model was asked.\n', stderr: '' });
    const ids: unknown[] = [];
    for (const prompt of ['two', 'three']) ids.push(settledOf(await bench.run(rehearse('--json', prompt)))['threadId']);
    expect(ids[0]).toBe(ids[1]);
  });

  it('a prompt on the command line wins over a stdin that never ends', async () => {
    const end = await bench.run(rehearse('from the command line'), { stdin: 'open' });
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('"from the command line"') });
  });

  it.each([['-'], []])('a piped prompt is read (%s)', async (...words) => {
    const end = await bench.run(rehearse(...words), { stdin: 'from a pipe' });
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('"from a pipe"') });
  });

  it('a rehearsal keeps its own model, whatever the user is configured for', async () => {
    const env = { CODEX_ATTEMPT_MODEL: 'gpt-9' };
    const end = await bench.run(rehearse('--record-requests', 'requests.ndjson', 'hello'), { env });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(ndjson(await readFile(bench.at('requests.ndjson'), 'utf8'))).toMatchObject([{ model: 'rehearsal-1' }]);
  });

  it('a prompt that looks like a flag stands behind --', async () => {
    expect(await bench.run(rehearse('--', '--help'))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"--help"'),
    });
  });

  it('without --session a new one is made and told', async () => {
    const end = await bench.run(['run', '--rehearse', 'hello']);
    expect(end.code).toBe(0);
    const [file] = (await readdir(bench.at('home', 'sessions'))).filter((name) => name.endsWith('.jsonl'));
    expect(file).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f]{8}\.jsonl$/);
    expect(end.stderr).toBe(`session: ${bench.at('home', 'sessions', String(file))}\n`);
    const quiet = await bench.run(['run', '--rehearse', '--quiet', 'hello']);
    expect(quiet).toMatchObject({ code: 0, stderr: '' });
  });

  it('--progress shows each state as a line, --output-last-message writes the text', async () => {
    const end = await bench.run(rehearse('--progress', '--engine', 'example', '-o', 'out.txt', 'hello'));
    expect(end).toMatchObject({ code: 0, stderr: `${ALL_STATES.join('\n')}\n` });
    expect(`${await readFile(bench.at('out.txt'), 'utf8')}\n`).toBe(end.stdout);
  });

  it('--record-requests holds what the model was asked, --trace holds no text', async () => {
    const end = await bench.run(
      rehearse('--record-requests', 'requests.ndjson', '--trace', 'trace.ndjson', 'a secret wish'),
    );
    expect(end.code).toBe(0);
    const requests = await readFile(bench.at('requests.ndjson'), 'utf8');
    expect(ndjson(requests)).toHaveLength(1);
    expect(requests).toContain('a secret wish');
    const trace = await readFile(bench.at('trace.ndjson'), 'utf8');
    expect(trace).not.toContain('a secret wish');
    const lines = ndjson(trace);
    expect(lines.map((line) => line['seq'])).toEqual(lines.map((_, index) => index));
    expect(lines.at(-1)).toMatchObject({ type: 'attempt.settled', outcome: 'completed' });
  });

  it('a relative session and --cwd are the caller’s, and a project file is that of the working folder', async () => {
    await mkdir(bench.at('project'));
    await writeFile(bench.at('project', '.codex-attemptrc.json'), '{"tokenBudget":4321}');
    await writeFile(
      bench.at('probe.mjs'),
      engineSource('', '')
        .replace('assemble({ messages })', 'assemble({ messages, tokenBudget })')
        .replace('return { messages }', "return { messages, systemPromptAddition: 'budget ' + tokenBudget }"),
    );
    const end = await bench.run(
      rehearse('--cwd', 'project', '--engine', './probe.mjs', '--record-requests', 'requests.ndjson', 'hello'),
    );
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(await readdir(bench.folder)).toContain('session.jsonl');
    const requests = await readFile(bench.at('requests.ndjson'), 'utf8');
    expect(requests).toContain('budget 4321');
    expect(requests).toContain(`<cwd>${bench.at('project')}</cwd>`);
  });

  it('background maintenance is waited for after printing', async () => {
    const later = `maintain() { return new Promise((done) => setTimeout(() => {
      writeFileSync(${JSON.stringify(bench.at('maintained'))}, 'yes'); done({ changed: true }); }, 300)); }`;
    const source = engineSource(later, `, turnMaintenanceMode: 'background'`);
    await writeFile(bench.at('slow.mjs'), `import { writeFileSync } from 'node:fs';\n${source}`);
    const end = await bench.run(rehearse('--json', '--engine', './slow.mjs', 'hello'));
    expect(end.code).toBe(0);
    expect(settledOf(end)['maintenance']).toEqual({ ran: true, mode: 'background' });
    expect(await readFile(bench.at('maintained'), 'utf8')).toBe('yes');
  });

  it('ends though an engine has left a timer behind', async () => {
    await writeFile(bench.at('timer.mjs'), `setInterval(() => undefined, 1000);\n${engineSource('')}`);
    expect(await bench.run(rehearse('--engine', './timer.mjs', 'hello'))).toMatchObject({ code: 0 });
  });

  it('a turn that fails is exit 1 with one line, and the text stays off stdout', async () => {
    await writeFile(
      bench.at('fail.json'),
      JSON.stringify({ steps: [{ error: { status: 400, message: 'no such thing' } }] }),
    );
    const end = await bench.run(['run', '--rehearse-script', 'fail.json', '--session', 'session.jsonl', 'hello']);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^codex-attempt: .*no such thing.*\n$/);
  });

  it('a model for a rehearsal is warned about', async () => {
    const end = await bench.run(rehearse('--model', 'gpt-9', 'hello'));
    expect(end).toMatchObject({
      code: 0,
      stderr: 'warning: a rehearsal has a model of its own: --model gpt-9 is not used\n',
    });
  });

  it('through npm run, paths and the working folder are those of the caller', async () => {
    await mkdir(bench.at('package'));
    const env = {
      npm_lifecycle_event: 'codex-attempt',
      npm_package_json: bench.at('package', 'package.json'),
      INIT_CWD: bench.folder,
    };
    const args = rehearse('--record-requests', 'requests.ndjson', 'hello');
    const end = await bench.run(args, { env, cwd: bench.at('package') });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(bench.at('requests.ndjson'), 'utf8')).toContain(`<cwd>${bench.folder}</cwd>`);
    expect(await readdir(bench.at('package'))).toEqual([]);
  });

  it('a record of requests that cannot be written is named, and the turn goes on', async () => {
    const end = await bench.run(rehearse('--record-requests', '/dev/full', 'hello'));
    expect(end).toMatchObject({ code: 0, stdout: 'Rehearsal answer to: "hello". No model was asked.\n' });
    expect(end.stderr).toMatch(/^warning: --record-requests: \/dev\/full cannot be written.*ENOSPC.*\n$/);
  });

  it.each([[[]], [['--json']]])(
    'a stdout that cannot be written (%j): one line, exit 1, the session is kept',
    async (flags) => {
      const session = bench.at('session.jsonl');
      const args = [CLI_MAIN, ...rehearse(...flags, 'hello')];
      const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ');
      await writeFile(
        bench.at('full.mjs'),
        `import { spawnSync } from 'node:child_process';
      const { status } = spawnSync('/bin/sh', ['-c', ${JSON.stringify(`${words} > /dev/full`)}], { stdio: ['ignore', 'inherit', 'inherit'] });
      process.exitCode = status;`,
      );
      const end = await bench.run([], { script: bench.at('full.mjs') });
      expect(end.code).toBe(1);
      expect(end.stderr).toMatch(/^codex-attempt: stdout cannot be written: ENOSPC.*\n$/);
      expect(ndjson(await readFile(session, 'utf8')).at(-1)).toMatchObject({
        message: { role: 'assistant', stopReason: 'stop' },
      });
    },
  );

  it('--timeout ends the turn with exit 3', async () => {
    await writeStall();
    const end = await bench.run(stalling('--json', '--timeout', '1s', 'hello'));
    expect(end.code).toBe(3);
    expect(settledOf(end)).toMatchObject({ outcome: 'failed', error: { code: 'budget_execution' } });
  });
});

describe('stopping', () => {
  beforeEach(writeStall);

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s once aborts: partial text, exit 130', async (signal) => {
    const run = bench.start(stalling('--json', 'hello'));
    await run.sees('stdout', '"item.delta"');
    run.child.kill(signal);
    const end = await run.ended;
    expect(end).toMatchObject({ code: 130, signal: null });
    expect(end.stderr).toContain(`${signal}: stopping the attempt`);
    const settled = settledOf(end);
    expect(settled).toMatchObject({ outcome: 'aborted', text: expect.stringMatching(/^half/) });
    const rows = ndjson(await readFile(bench.at('session.jsonl'), 'utf8'));
    expect(rows.map((row) => (row['message'] as { role?: string } | undefined)?.role)).toEqual([
      undefined,
      'user',
      'assistant',
    ]);
    expect(rows[2]).toMatchObject({
      message: { stopReason: 'aborted', content: [{ type: 'text', text: settled['text'] }] },
    });
  });

  it('a second Ctrl-C ends it at once, the app-server too', async () => {
    // The pipe is open as long as the app-server lives, or a child of it.
    execFileSync('mkfifo', [bench.at('alive')]);
    const codex = path.join(
      path.dirname(createRequire(import.meta.url).resolve('@openai/codex/package.json')),
      'bin/codex.js',
    );
    const wrapper = `#!/bin/sh\nexec 9>"${bench.at('alive')}"\nexec "${process.execPath}" "${codex}" "$@"\n`;
    await writeFile(bench.at('codex'), wrapper);
    await chmod(bench.at('codex'), 0o755);
    await writeFile(bench.at('hung.mjs'), engineSource('afterTurn() { return new Promise(() => undefined); },'));
    const gone = text(createReadStream(bench.at('alive')));
    const run = bench.start(stalling('--json', '--engine', './hung.mjs', 'hello'), { env: { CODEX_PATH: './codex' } });
    await run.sees('stdout', '"item.delta"');
    run.child.kill('SIGINT');
    await run.sees('stderr', 'once more ends it at once');
    run.child.kill('SIGINT');
    const end = await run.ended;
    expect(end.code).toBe(130);
    expect(settledOf(end)).toMatchObject({
      type: 'attempt.settled',
      attemptId: expect.any(String),
      outcome: 'aborted',
      states: expect.arrayContaining(['turning', 'aborted']),
      error: { code: 'aborted' },
    });
    expect(await gone).toBe('');
  });

  it('a signal while the prompt is read ends with 130 and leaves nothing', async () => {
    const run = bench.start(stalling('--json'), { stdin: 'open' });
    // The handlers are there once the first chunk could be taken.
    await new Promise<void>((resolve, reject) => {
      run.child.stdin.write('x'.repeat(1_000_000), (error) => (error ? reject(error) : resolve()));
    });
    run.child.kill('SIGTERM');
    const end = await run.ended;
    expect(end.code).toBe(130);
    expect(settledOf(end)).toMatchObject({ outcome: 'aborted', error: { code: 'aborted' } });
    expect(await readdir(bench.folder)).not.toContain('session.jsonl');
  });

  it('a signal while the engine loads ends the waiting, with a last line', async () => {
    await writeFile(
      bench.at('slow.mjs'),
      "process.stderr.write('loading\\n'); await new Promise((done) => setTimeout(done, 60_000));",
    );
    const args = rehearse('--json', '--engine', './slow.mjs', 'hello');
    const run = bench.start(args);
    await run.sees('stderr', 'loading');
    run.child.kill('SIGINT');
    const end = await run.ended;
    expect(end).toMatchObject({ code: 130, signal: null });
    expect(settledOf(end)).toMatchObject({ type: 'attempt.settled', outcome: 'aborted', error: { code: 'aborted' } });
  });

  it('a reader that goes away (`| head`) stops the attempt without a word', async () => {
    await writeFile(
      bench.at('slow.json'),
      JSON.stringify({ steps: [{ text: 'x'.repeat(400), deltas: 400, delayMs: 50 }] }),
    );
    const run = bench.start(['run', '--rehearse-script', 'slow.json', '--session', 'session.jsonl', '--json', 'hello']);
    await run.sees('stdout', '"item.delta"');
    run.child.stdout.destroy();
    const end = await run.ended;
    expect(end).toMatchObject({ code: 130, stderr: '' });
  });

  it('a second run on a busy session is refused and touches nothing', async () => {
    const run = bench.start(stalling('--json', 'hello'));
    const before = await fileHolds(bench.at('session.jsonl'), 'hello');
    const second = await bench.run(rehearse('me too'));
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/^codex-attempt: .*\(session_busy\)\n$/);
    expect(await bench.run(['reset', '--session', 'session.jsonl'])).toMatchObject({ code: 1 });
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(before);
    run.child.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 130 });
  });
});

describe('credentials', () => {
  let model: RehearsalModel;
  beforeEach(async () => {
    await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
    model = await startRehearsalModel();
  });
  afterEach(async () => {
    await model.close();
  });
  const provider = (needsLogin: boolean): Promise<void> => writeProvider(bench, model, needsLogin);

  it('none: exit 1, one line that names --rehearse, nothing written', async () => {
    const end = await bench.run(['run', '--session', 'session.jsonl', 'hello']);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^codex-attempt: .*--rehearse\n$/);
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(SESSION_TEXT);
    expect(await readdir(bench.folder)).toEqual(['codex-home', 'session.jsonl']);
    expect(settledOf(await bench.run(['run', '--json', 'hello']))).toMatchObject({
      outcome: 'failed',
      states: [],
      error: { code: 'codex_no_credentials' },
    });
  });

  it('a provider of one’s own needs none; a rehearsed session warns', async () => {
    await provider(false);
    const end = await bench.run(['run', '--session', 'session.jsonl', 'hello'], { env: { NO_PROXY: '127.0.0.1' } });
    expect(end).toMatchObject({ code: 0, stdout: 'Rehearsal answer to: "hello". No model was asked.\n' });
    expect(end.stderr).toMatch(/^warning: .*was rehearsed.*\n$/m);
  });

  it.each(['CODEX_API_KEY', 'OPENAI_API_KEY'])('%s is used and stored nowhere', async (name) => {
    await provider(true);
    const key = 'sk-loopback-0123456789';
    const end = await bench.run(['run', '--session', 'session.jsonl', 'hello'], {
      env: { [name]: key, NO_PROXY: '127.0.0.1' },
    });
    expect(end.code).toBe(0);
    expect(model.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${key}`]);
    expect(await readdir(bench.at('codex-home'))).not.toContain('auth.json');
  });

  it('a stored login comes before OPENAI_API_KEY and after CODEX_API_KEY', async () => {
    await provider(true);
    const stored = JSON.stringify({ OPENAI_API_KEY: 'sk-stored-0123456789' });
    await writeFile(bench.at('codex-home', 'auth.json'), stored);
    for (const name of ['OPENAI_API_KEY', 'CODEX_API_KEY']) {
      const env = { [name]: 'sk-given-0123456789', NO_PROXY: '127.0.0.1' };
      expect(await bench.run(['run', '--session', 'session.jsonl', name], { env })).toMatchObject({ code: 0 });
    }
    expect(model.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-stored-0123456789',
      'Bearer sk-given-0123456789',
    ]);
    expect(await readFile(bench.at('codex-home', 'auth.json'), 'utf8')).toBe(stored);
  });
});

describe('npm start', () => {
  const script = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));

  it('rehearses with the example engine, shows the states, reads no stdin and leaves nothing', async () => {
    await mkdir(bench.at('tmp'));
    const end = await bench.run(['a', 'prompt'], { script, stdin: 'open', env: { TMPDIR: bench.at('tmp') } });
    expect(end).toEqual({
      code: 0,
      signal: null,
      stdout: 'Rehearsal answer to: "a prompt". No model was asked.\n',
      stderr: `${ALL_STATES.join('\n')}\n`,
    });
    expect(await readdir(bench.at('tmp'))).toEqual([]);
    expect(await readdir(bench.folder)).toEqual(['codex-home', 'tmp']);
  });

  it('has a prompt of its own', async () => {
    const end = await bench.run([], { script });
    expect(end).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Rehearsal answer to: ".+"/) });
  });
});
