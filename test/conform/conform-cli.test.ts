import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLAUSES } from '../../src/conform/clauses.ts';
import type { ConformReport } from '../../src/conform/report.ts';
import { type CliBench, type CliEnd, openBench } from '../support/cli.ts';

const FIXTURE = fileURLToPath(new URL('../fixtures/engines/broken-engine.mjs', import.meta.url));

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
  await mkdir(bench.at('tmp'));
});
afterEach(() => bench.close());

const run = (args: readonly string[]): Promise<CliEnd> =>
  bench.run(['conform', ...args], { env: { TMPDIR: bench.at('tmp') } });

/** The report of a `--json` run. */
function reportOf({ stdout }: CliEnd): ConformReport {
  const [line, ...rest] = stdout.split('\n');
  expect(rest).toEqual(['']);
  return JSON.parse(line ?? '') as ConformReport;
}

const idsOf = (report: ConformReport, verdict: string): string[] =>
  report.clauses.filter((clause) => clause.verdict === verdict).map(({ id }) => id);

/** With one planted fault; paths only where they are wanted, because they take time. */
const planted = (fault: string, more: readonly string[] = ['--limit', '0.001']): Promise<CliEnd> =>
  run([FIXTURE, '--json', '--engine-config', JSON.stringify({ fault }), ...more]);

/** All paths take ten to twenty seconds on a machine that does nothing else. */
const ALL_PATHS = { timeout: 480_000 };

describe('codex-attempt conform', () => {
  it(
    'drives the example through every path of it, finds nothing broken, and leaves nothing behind',
    ALL_PATHS,
    async () => {
      const end = await run(['example', '--json']);
      expect(end).toMatchObject({ code: 0, stderr: '' });
      const report = reportOf(end);
      expect(report).toEqual({
        type: 'conform',
        ok: true,
        engine: {
          id: 'window',
          name: 'Sliding window with digest',
          version: '1',
          source: 'example',
          finalizer: 'commitTurn',
          methods: ['bootstrap', 'ingestBatch', 'commitTurn', 'maintain'],
        },
        clauses: expect.any(Array),
        paths: { total: expect.any(Number), driven: expect.any(Number), leftOut: 0 },
        calls: expect.any(Number),
        longestStallMs: expect.any(Number),
      });
      expect(report.clauses.map(({ id, title, spec }) => ({ id, title, spec }))).toEqual(CLAUSES);
      expect(idsOf(report, 'broken')).toEqual([]);
      expect(idsOf(report, 'not-exercised')).toEqual(['epoch', 'dispose']);
      // The others need a compaction that finds something, or nothing, where this engine does not.
      expect(report.paths.total).toBeGreaterThan(200);
      expect(report.paths.total - report.paths.driven).toBeLessThan(10);
      expect((await readdir(bench.folder)).sort()).toEqual(['codex-home', 'tmp']);
      expect(await readdir(bench.at('tmp'))).toEqual([]);
    },
  );

  it('an engine with a planted fault breaks its clause and nothing else, on all paths', ALL_PATHS, async () => {
    const end = await planted('no-ledger', []);
    expect(end).toMatchObject({ code: 1, stderr: '' });
    const report = reportOf(end);
    expect(report).toMatchObject({ ok: false, paths: { leftOut: 0 } });
    expect(report.paths.driven).toBeGreaterThan(100);
    expect(idsOf(report, 'broken')).toEqual(['commit-idempotent']);
  });

  it('writes a report for people, with the shortest way to the fault', async () => {
    const config = JSON.stringify({ fault: 'clock' });
    const end = await run([FIXTURE, '--engine-config', config, '--limit', '0.001']);
    expect(end).toMatchObject({ code: 1, stderr: '' });
    const lines = end.stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('BROKEN'));
    expect(lines.slice(at, at + 4)).toEqual([
      'BROKEN         determinism        equal state and equal input assemble to the same, also in another process',
      '    expected: assemble() answers the same when it is asked the same twice',
      expect.stringMatching(/^ {4}found: {4}systemPromptAddition was "It is \d+\.", then "It is \d+\."$/),
      '    path:     open: no file → assemble',
    ]);
    expect(lines[0]).toBe(`fixture 1 (${FIXTURE}), finalized by commitTurn()`);
    expect(lines.slice(-4)).toEqual([
      '',
      `${CLAUSES.length - 2} held, 1 broken, 1 not exercised`,
      expect.stringMatching(
        /^\d+ calls, 0 of \d+ paths \(no time for \d+\), longest standstill of the event loop \d+ ms$/,
      ),
      '',
    ]);
  });
});

describe('what only another process sees', () => {
  it('an exception that comes out of no call', async () => {
    const report = reportOf(await planted('throws-later'));
    expect(idsOf(report, 'broken')).toEqual(['inside']);
    expect(report.clauses.find(({ id }) => id === 'inside')).toMatchObject({
      found: 'an uncaught exception: too late to be caught',
      path: ['open: no file', 'assemble', 'turn: completed', 'commitTurn', 'maintain (turn)'],
    });
  });

  it('an engine that ends the process: the report says what is known so far', async () => {
    const end = await planted('exits');
    expect(end).toMatchObject({ code: 1, stderr: '' });
    const report = reportOf(end);
    expect(report.ended).toBe('the process of the engine ended in compact(), with code 0');
    expect(idsOf(report, 'broken')).toEqual(['inside']);
    expect(idsOf(report, 'held')).toEqual(expect.arrayContaining(['budget', 'one-finalizer', 'commit-atomic']));
    expect(report.clauses.find(({ id }) => id === 'compact')).toMatchObject({
      verdict: 'not-exercised',
      reason: report.ended,
    });
  });

  it('an engine that blocks for ever: its process is ended', async () => {
    const report = reportOf(await planted('blocks-for-ever', ['--timeout', '1', '--limit', '0.001']));
    expect(report.ended).toBe('compact() blocked the event loop for more than 3 s');
    expect(idsOf(report, 'broken')).toEqual(['event-loop']);
  });

  it('text that is the same only within one process', async () => {
    const report = reportOf(await planted('process-id'));
    expect(idsOf(report, 'broken')).toEqual(['determinism']);
    expect(report.clauses.find(({ id }) => id === 'determinism')?.path).toContain('a new process');
  });
});

describe('the engine that is named', () => {
  const ENGINE = (body: string): string => `export default {
    info: { id: 'here', name: 'Here' },
    ingest: () => ({ ingested: true }),
    assemble: ({ messages }) => ({ messages: messages.filter(({ role }) => role === 'user').slice(-10) }),
    compact: () => ({ ok: true, compacted: false }),
  };
  ${body}`;

  it('prints to stderr, finds its home elsewhere and its configuration where it was named', async () => {
    const told = `console.log(JSON.stringify([process.env.HOME, process.env.OPENCLAW_STATE_DIR, process.env.KEPT]));`;
    await writeFile(bench.at('engine.mjs'), ENGINE(told));
    const env = {
      TMPDIR: bench.at('tmp'),
      OPENCLAW_STATE_DIR: '/nowhere',
      OPENCLAW_CONFIG_PATH: '/nowhere',
      KEPT: 'yes',
    };
    const end = await bench.run(['conform', 'engine.mjs', '--json', '--limit', '0.001'], { env });
    // It shows no answers: that is a finding, not a fault of the examination.
    expect([end.code, idsOf(reportOf(end), 'broken')]).toEqual([1, ['one-finalizer']]);
    expect(reportOf(end).engine).toMatchObject({ id: 'here', finalizer: 'ingest', source: bench.at('engine.mjs') });
    const [home, state, kept] = JSON.parse(end.stderr.split('\n')[0] ?? '') as string[];
    expect([home, state].every((folder) => folder?.startsWith(bench.at('tmp')))).toBe(true);
    expect(kept).toBe('yes');
  });

  it.each([
    [['none.mjs'], /^codex-attempt: no such engine: nothing to load at .+none\.mjs\n$/],
    [[''], /^codex-attempt: no engine was named\n$/],
    [
      ['half.mjs'],
      /^codex-attempt: .+half\.mjs is not a context engine: it lacks ingest\(\), assemble\(\), compact\(\)\n$/,
    ],
    [['needs.mjs'], /^codex-attempt: context engine "needs" cannot serve agent-run here: .+ does not offer telepathy/],
    [['exits.mjs'], /^codex-attempt: .+exits\.mjs could not be loaded: it ended the process with code 3\n$/],
    [['half.mjs', '--engine-config', '{'], /^codex-attempt: --engine-config is not JSON/],
  ])('%j: exit 2, and why', async (args, message) => {
    await writeFile(bench.at('half.mjs'), `export default { info: { id: 'half', name: 'Half' } };`);
    const info = `{ id: 'needs', name: 'n', hostRequirements: { 'agent-run': ['telepathy'] } }`;
    await writeFile(bench.at('needs.mjs'), ENGINE('').replace(/\{ id: .+? \}/, info));
    await writeFile(bench.at('exits.mjs'), 'process.exit(3);');
    const end = await run(args);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toMatch(message);
  });

  it('is stopped by a signal, and its folder is removed', async () => {
    await writeFile(bench.at('slow.mjs'), ENGINE(`console.log('it is loaded');`));
    const child = bench.start(['conform', 'slow.mjs'], { env: { TMPDIR: bench.at('tmp') } });
    await child.sees('stderr', 'it is loaded');
    child.child.kill('SIGINT');
    expect(await child.ended).toMatchObject({ code: 130, stdout: '' });
    expect(await readdir(bench.at('tmp'))).toEqual([]);
  });
});
