import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RehearsalModel, startRehearsalModel } from '../../src/rehearsal/index.ts';
import { type CliBench, fileHolds, ndjson, openBench, SESSION_TEXT, settledOf, writeProvider } from '../support/cli.ts';

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  await bench.close();
});

const SESSION = ['--session', 'session.jsonl'];
const compact = (...args: string[]): string[] => ['compact', '--rehearse', ...SESSION, ...args];
const scripted = (...args: string[]): string[] => ['compact', '--rehearse-script', 'script.json', ...SESSION, ...args];
const writeScript = (compaction: object): Promise<void> =>
  writeFile(bench.at('script.json'), JSON.stringify({ steps: [], compaction }));

/** A session with one rehearsed turn and its thread. Gives the id of the thread. */
async function converse(): Promise<unknown> {
  const end = await bench.run(['run', '--rehearse', '--json', ...SESSION, 'hello']);
  expect(end.code).toBe(0);
  return settledOf(end)['threadId'];
}

/** What the model is asked in the next turn, which goes on with the thread. */
async function nextRequest(threadId: unknown): Promise<string> {
  const end = await bench.run(['run', '--rehearse', '--json', '--record-requests', 'next.ndjson', ...SESSION, 'now?']);
  expect(settledOf(end)).toMatchObject({ outcome: 'completed', threadId });
  return await readFile(bench.at('next.ndjson'), 'utf8');
}
/** Of the first answer; a compaction sums it up. */
const FIRST_ANSWER = 'Rehearsal answer to';

/** An engine that owns compaction and writes down what it is asked; the bodies are how it compacts and maintains itself. */
const writeOwner = (compactBody: string, maintainBody = ''): Promise<void> =>
  writeFile(
    bench.at('owner.mjs'),
    `import { appendFileSync } from 'node:fs';
    const note = (line) => appendFileSync(${JSON.stringify(bench.at('calls.ndjson'))}, JSON.stringify(line) + '\\n');
    export default {
      info: { id: 'owner', name: 'Owner', ownsCompaction: true },
      ingest() {}, assemble({ messages }) { return { messages }; },
      compact({ force, compactionTarget, tokenBudget, customInstructions }) {
        note({ method: 'compact', force, compactionTarget, tokenBudget, customInstructions });
        ${compactBody}
      },
      maintain({ reason }) { note({ method: 'maintain' }); ${maintainBody} },
    };`,
  );
const COMPACTS = `return { ok: true, compacted: true, result: { summary: 'short', tokensBefore: 9000, tokensAfter: 400 } };`;

const nativeDone = (threadId: unknown) => ({
  backend: 'codex-app-server',
  ok: true,
  compacted: true,
  threadId,
  turnId: expect.any(String),
  itemId: expect.any(String),
  tokensAfter: expect.any(Number),
});
const ATTEMPT = { attemptId: expect.any(String), sessionId: expect.any(String), degraded: [] };

/** A codex whose whole life can be waited for: the pipe is open as long as it lives, or a child of it. */
async function watchedCodex(): Promise<{ env: Record<string, string>; gone: Promise<string> }> {
  execFileSync('mkfifo', [bench.at('alive')]);
  const manifest = createRequire(import.meta.url).resolve('@openai/codex/package.json');
  const real = `"${process.execPath}" "${path.join(path.dirname(manifest), 'bin/codex.js')}"`;
  await writeFile(bench.at('codex'), `#!/bin/sh\nexec 9>"${bench.at('alive')}"\nexec ${real} "$@"\n`);
  await chmod(bench.at('codex'), 0o755);
  return { env: { CODEX_PATH: './codex' }, gone: text(createReadStream(bench.at('alive'))) };
}

describe('compact without an engine', () => {
  it('compacts the native thread, also with a stdin that never ends; the next run goes on with it', async () => {
    const threadId = await converse();
    const before = await readFile(bench.at('session.jsonl'), 'utf8');
    const end = await bench.run(compact('--json', '--record-requests', 'requests.ndjson'), { stdin: 'open' });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const events = ndjson(end.stdout);
    expect(events.filter(({ type }) => type === 'compaction.settled')).toHaveLength(1);
    expect(events.some(({ type }) => type === 'attempt.settled')).toBe(false);
    const native = nativeDone(threadId);
    expect(events.at(-1)).toEqual({
      type: 'compaction.settled',
      ok: true,
      compacted: true,
      primary: 'native',
      reason: null,
      tokensBefore: expect.any(Number),
      tokensAfter: expect.any(Number),
      details: { codexNativeCompaction: native },
      ...ATTEMPT,
      outcome: 'completed',
      sessionFile: bench.at('session.jsonl'),
    });
    expect(ndjson(await readFile(bench.at('requests.ndjson'), 'utf8'))).toHaveLength(1);
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(before);
    expect(await nextRequest(threadId)).not.toContain(FIRST_ANSWER);
  });

  it('says it in one line on stderr; --quiet says nothing', async () => {
    await converse();
    const end = await bench.run(compact());
    expect(end).toMatchObject({ code: 0, stdout: '' });
    expect(end.stderr).toMatch(/^Codex compacted the native thread: \d+ → \d+ tokens\n$/);
    expect(await bench.run(compact('--quiet'))).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('--progress shows the states, --trace has no text, --instructions are warned about', async () => {
    await converse();
    const end = await bench.run(compact('--progress', '--trace', 'trace.ndjson', '--instructions', 'KEEP THE NAMES'));
    expect(end.code).toBe(0);
    expect(end.stderr.split('\n')).toEqual([
      expect.stringMatching(/^warning: --instructions are not used: there is no engine/),
      'bootstrap',
      'compacting',
      'completed',
      expect.stringMatching(/^Codex compacted/),
      '',
    ]);
    const trace = await readFile(bench.at('trace.ndjson'), 'utf8');
    expect(ndjson(trace).at(-1)).toMatchObject({ type: 'attempt.settled', outcome: 'completed' });
    expect(trace).not.toContain('KEEP THE NAMES');
  });

  it('without a bound thread is exit 1 with the way out, and Codex is not started', async () => {
    await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
    const env = { CODEX_PATH: './no-codex' };
    const end = await bench.run(compact(), { env });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(
      /^codex-attempt: no native thread is bound .*`run` a prompt on it first.*\(thread_missing\)\n$/,
    );
    expect(settledOf(await bench.run(compact('--json'), { env }))).toMatchObject({
      ok: false,
      primary: 'native',
      reason: 'no_thread_binding',
      error: { code: 'thread_missing' },
    });
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(SESSION_TEXT);
  });

  it('what is no session is exit 2, and nothing is made beside it', async () => {
    await writeFile(bench.at('notes.txt'), 'milk\nbread\n');
    const end = await bench.run(['compact', '--rehearse', '--session', 'notes.txt']);
    expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is not a session file') });
    expect(await readdir(bench.folder)).toEqual(['codex-home', 'notes.txt']);
  });

  it('a model that fails on the compaction is exit 1 with its reason; the thread is used on', async () => {
    const threadId = await converse();
    await writeScript({ error: { status: 500 } });
    const end = await bench.run(scripted('--json'));
    expect(end).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^codex-attempt: .*the thread is as it was.*\(http_failed\)\n$/),
    });
    expect(settledOf(end)).toEqual({
      type: 'compaction.settled',
      ok: false,
      compacted: false,
      primary: 'native',
      reason: 'model_failed',
      tokensBefore: expect.any(Number),
      tokensAfter: null,
      details: {
        codexNativeCompaction: {
          backend: 'codex-app-server',
          ok: false,
          compacted: false,
          threadId,
          turnId: expect.any(String),
          itemId: expect.any(String),
          reason: 'model_failed',
          message: expect.any(String),
        },
      },
      ...ATTEMPT,
      outcome: 'failed',
      sessionFile: bench.at('session.jsonl'),
      error: { code: 'http_failed', message: expect.any(String) },
    });
    expect(await nextRequest(threadId)).toContain(FIRST_ANSWER);
  });

  it('a Codex that is not there is exit 1 with its reason', async () => {
    const threadId = await converse();
    const end = await bench.run(compact('--json'), { env: { CODEX_PATH: './no-codex' } });
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('no-codex') });
    expect(settledOf(end)).toMatchObject({
      ok: false,
      reason: 'app_server_unavailable',
      details: { codexNativeCompaction: { ok: false, threadId, reason: 'app_server_unavailable' } },
      error: { code: 'codex_not_found' },
    });
  });
});

describe('compact with an engine that owns compaction', () => {
  it('has its result first and the native one apart', async () => {
    const threadId = await converse();
    await writeOwner(COMPACTS);
    const args = ['--engine', './owner.mjs', '--token-budget', '1234', '--instructions', 'keep the names'];
    const end = await bench.run(compact('--json', ...args));
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(settledOf(end)).toEqual({
      type: 'compaction.settled',
      ok: true,
      compacted: true,
      primary: 'engine',
      reason: null,
      tokensBefore: 9000,
      tokensAfter: 400,
      result: { summary: 'short', tokensBefore: 9000, tokensAfter: 400 },
      details: {
        contextEngineCompaction: { ok: true, compacted: true },
        contextEngineMaintenance: { ok: true },
        codexNativeCompaction: nativeDone(threadId),
      },
      ...ATTEMPT,
      outcome: 'completed',
      sessionFile: bench.at('session.jsonl'),
    });
    expect(ndjson(await readFile(bench.at('calls.ndjson'), 'utf8'))).toEqual([
      { method: 'maintain' },
      {
        method: 'compact',
        force: true,
        compactionTarget: 'threshold',
        tokenBudget: 1234,
        customInstructions: 'keep the names',
      },
      { method: 'maintain' },
    ]);
    const shown = await bench.run(compact('--engine', './owner.mjs'));
    expect(shown.stderr).toMatch(
      /^the engine compacted the session: 9000 → 400 tokens; Codex compacted the native thread: \d+ tokens now\n$/,
    );
  });

  it('needs no thread and then no Codex', async () => {
    await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
    await writeOwner(COMPACTS);
    const args = ['compact', ...SESSION, '--engine', './owner.mjs'];
    const end = await bench.run(args, { env: { CODEX_PATH: './no-codex' } });
    expect(end).toMatchObject({ code: 0, stdout: '' });
    expect(end.stderr).toMatch(
      /the engine compacted the session: 9000 → 400 tokens; the native thread was not compacted: no native thread is bound .*\(no_thread_binding\)\n$/,
    );
  });

  it('that has nothing to compact is exit 0', async () => {
    await converse();
    await writeOwner(`return { ok: true, compacted: false, reason: 'everything fits' };`);
    const end = await bench.run(compact('--json', '--engine', './owner.mjs'));
    expect(end.code).toBe(0);
    expect(settledOf(end)).toMatchObject({ ok: true, compacted: false, primary: 'engine', reason: 'everything fits' });
    expect((await bench.run(compact('--engine', './owner.mjs'))).stderr).toMatch(
      /^the engine had nothing to compact \(everything fits\); Codex compacted the native thread/,
    );
  });

  it('that fails is exit 1, though Codex compacts its thread', async () => {
    await converse();
    await writeOwner(`throw new Error('no room with key sk-abcdefghijklmnop');`);
    const end = await bench.run(compact('--json', '--engine', './owner.mjs'));
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(
      /^codex-attempt: the engine's compaction failed: .*no room.*; Codex compacted the native thread/,
    );
    expect(settledOf(end)).toMatchObject({
      ok: false,
      compacted: true,
      primary: 'engine',
      reason: expect.stringMatching(/^context engine compaction failed: .*no room/),
      details: { codexNativeCompaction: { ok: true, compacted: true } },
      outcome: 'failed',
    });
    expect(end.stdout + end.stderr).not.toContain('sk-abc');
  });

  it('that does not end is exit 3 after --timeout', async () => {
    await converse();
    await writeOwner('return new Promise(() => undefined);');
    const end = await bench.run(compact('--json', '--engine', './owner.mjs', '--timeout', '1s'));
    expect(end).toMatchObject({ code: 3, stderr: expect.stringContaining('--timeout sets it (budget_compact)') });
    expect(settledOf(end)).toMatchObject({
      ok: false,
      primary: 'engine',
      details: { codexNativeCompaction: { ok: true } },
      error: { code: 'budget_compact' },
    });
  });

  it('that had compacted before Ctrl-C came is exit 0', async () => {
    await converse();
    await writeOwner(
      COMPACTS,
      `if (reason === 'compaction') { console.error('maintaining'); return new Promise(() => undefined); }`,
    );
    const child = bench.start(compact('--json', '--engine', './owner.mjs'));
    await child.sees('stderr', 'maintaining');
    child.child.kill('SIGINT');
    const end = await child.ended;
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(settledOf(end)).toMatchObject({ ok: true, compacted: true, outcome: 'completed' });
  });

  it('that ends the process leaves a last line and exit 1', async () => {
    await converse();
    await writeOwner('process.exit(0);');
    const end = await bench.run(compact('--json', '--engine', './owner.mjs'));
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('process.exit()') });
    expect(settledOf(end)).toEqual({
      type: 'compaction.settled',
      ok: false,
      compacted: false,
      primary: 'engine',
      reason: expect.stringMatching(/^context engine compaction failed: the process was ended from inside/),
      tokensBefore: null,
      tokensAfter: null,
      details: {
        contextEngineCompaction: { ok: false, compacted: false, reason: expect.stringContaining('process.exit()') },
        codexNativeCompaction: {
          backend: 'codex-app-server',
          ok: false,
          compacted: false,
          reason: 'aborted',
          message: expect.stringContaining('process.exit()'),
        },
      },
      ...ATTEMPT,
      outcome: 'failed',
      sessionFile: bench.at('session.jsonl'),
      error: { code: 'internal', message: expect.stringContaining('process.exit()') },
    });
  });
});

describe('a session that is in use', () => {
  it('is refused at once, and the turn under way is not touched', async () => {
    // Reading the pipe waits until the test has opened it too.
    execFileSync('mkfifo', [bench.at('go')]);
    await writeFile(
      bench.at('gate.mjs'),
      `import { readFile } from 'node:fs/promises';
      export default [{ name: 'wait', description: 'Waits.', parameters: { type: 'object', properties: {} },
        async execute() {
          process.stderr.write('waiting\\n');
          return await readFile(${JSON.stringify(bench.at('go'))}, 'utf8');
        } }];`,
    );
    const steps = [{ toolCalls: [{ name: 'wait', arguments: {} }] }, { text: 'It is open.' }];
    await writeFile(bench.at('script.json'), JSON.stringify({ steps, atEnd: 'fail' }));
    const run = bench.start(['run', '--rehearse-script', 'script.json', ...SESSION, '--tools', './gate.mjs', 'wait']);
    await run.sees('stderr', 'waiting');
    const before = await fileHolds(bench.at('session.jsonl'), '"wait"');
    const end = await bench.run(compact('--json'));
    expect(end).toMatchObject({ code: 1 });
    expect(end.stderr).toMatch(/^codex-attempt: The session is in use by process \d+ .*\(session_busy\)\n$/);
    expect(settledOf(end)).toMatchObject({
      type: 'compaction.settled',
      ok: false,
      compacted: false,
      details: { codexNativeCompaction: { reason: 'not_attempted' } },
      error: { code: 'session_busy' },
    });
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(before);
    await writeFile(bench.at('go'), 'open');
    expect(await run.ended).toMatchObject({ code: 0, stdout: 'It is open.\n' });
  });
});

describe('a compaction that stalls', () => {
  const stalled = async (...args: string[]) => {
    const threadId = await converse();
    await writeScript({ stall: 'headers' });
    const { env, gone } = await watchedCodex();
    const child = bench.start(scripted('--json', '--record-requests', 'requests.ndjson', ...args), { env });
    await fileHolds(bench.at('requests.ndjson'), '"input"');
    return { child, gone, threadId };
  };

  it('ends with exit 3 after --timeout, and no process is left', async () => {
    const { child, gone, threadId } = await stalled('--timeout', '1s');
    const end = await child.ended;
    expect(end).toMatchObject({ code: 3, stderr: expect.stringContaining('--timeout sets it (budget_compact)') });
    expect(settledOf(end)).toMatchObject({
      ok: false,
      primary: 'native',
      reason: 'timed_out',
      details: { codexNativeCompaction: { ok: false, threadId, turnId: expect.any(String), reason: 'timed_out' } },
      outcome: 'failed',
      error: { code: 'budget_compact' },
    });
    expect(await gone).toBe('');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('%s interrupts it: exit 130, and the thread is used on', async (signal) => {
    const { child, gone, threadId } = await stalled();
    child.child.kill(signal);
    const end = await child.ended;
    expect(end).toMatchObject({ code: 130, signal: null });
    expect(end.stderr.split('\n')).toEqual([
      `${signal}: stopping the compaction; once more ends it at once`,
      'aborted',
      '',
    ]);
    expect(settledOf(end)).toMatchObject({
      ok: false,
      compacted: false,
      reason: 'aborted',
      details: { codexNativeCompaction: { ok: false, threadId, reason: 'aborted' } },
      outcome: 'aborted',
    });
    expect(await gone).toBe('');
    expect(await nextRequest(threadId)).toContain(FIRST_ANSWER);
  });

  it('a second Ctrl-C ends it at once, the app-server too', async () => {
    await writeFile(
      bench.at('hung.mjs'),
      'export default { after_compaction: () => new Promise(() => undefined), before_compaction() {} };',
    );
    const { child, gone } = await stalled('--hooks', './hung.mjs');
    child.child.kill('SIGINT');
    await child.sees('stderr', 'once more ends it at once');
    child.child.kill('SIGINT');
    const end = await child.ended;
    expect(end.code).toBe(130);
    expect(settledOf(end)).toMatchObject({
      type: 'compaction.settled',
      ok: false,
      reason: 'aborted',
      ...ATTEMPT,
      outcome: 'aborted',
      error: { code: 'aborted', message: 'ended at once by a second signal' },
    });
    expect(await gone).toBe('');
  });

  it('a signal while the engine loads ends the waiting, with a last line', async () => {
    await converse();
    await writeFile(
      bench.at('slow.mjs'),
      "process.stderr.write('loading\\n'); await new Promise((done) => setTimeout(done, 60_000));",
    );
    const child = bench.start(compact('--json', '--engine', './slow.mjs'));
    await child.sees('stderr', 'loading');
    child.child.kill('SIGINT');
    const end = await child.ended;
    expect(end).toMatchObject({ code: 130, signal: null });
    expect(settledOf(end)).toMatchObject({
      type: 'compaction.settled',
      reason: 'not_attempted',
      outcome: 'aborted',
      error: { code: 'aborted', message: 'stopped before the compaction began' },
    });
  });
});

describe('a compaction without credentials', () => {
  let model: RehearsalModel;
  beforeEach(async () => {
    model = await startRehearsalModel();
  });
  afterEach(async () => {
    await model.close();
  });
  const provider = (needsLogin: boolean): Promise<void> => writeProvider(bench, model, needsLogin);

  it('says so as its own reason and names --rehearse; with a key it goes on', async () => {
    const env = { NO_PROXY: '127.0.0.1' };
    await provider(false);
    expect(await bench.run(['run', ...SESSION, 'hello'], { env })).toMatchObject({ code: 0 });
    await provider(true);
    const end = await bench.run(['compact', '--json', ...SESSION], { env });
    expect(end).toMatchObject({ code: 1, stderr: expect.stringMatching(/^codex-attempt: .*--rehearse/m) });
    expect(settledOf(end)).toMatchObject({
      ok: false,
      reason: 'unauthenticated',
      details: { codexNativeCompaction: { ok: false, reason: 'unauthenticated' } },
      error: { code: 'codex_no_credentials', message: expect.stringContaining('--rehearse') },
    });
    const withKey = { ...env, CODEX_API_KEY: 'sk-loopback-0123456789' };
    expect(await bench.run(['compact', ...SESSION], { env: withKey })).toMatchObject({ code: 0 });
  });
});
