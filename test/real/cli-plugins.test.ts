import { readdir, readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliBench, type CliEnd, ndjson, openBench, SESSION_TEXT, settledOf } from '../support/cli.ts';

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  await bench.close();
});

const RUN = ['run', '--rehearse', '--session', 'session.jsonl'];
const ANSWER = 'Rehearsal answer to: "hello". No model was asked.\n';

/** An engine with code at the places that an attempt calls. */
function engine(places: { load?: string; assemble?: string; afterTurn?: string; dispose?: string }): string {
  return `${places.load ?? ''}
export default {
  info: { id: 'probe', name: 'Probe' },
  ingest() {},
  compact() { return { ok: true, compacted: false }; },
  async assemble({ messages }) { ${places.assemble ?? ''}; return { messages }; },
  async afterTurn() { ${places.afterTurn ?? ''} },
  async dispose() { ${places.dispose ?? ''} },
};`;
}
const tools = (work: string): string =>
  `export default [{ name: 'probe', description: 'a probe', parameters: { type: 'object', properties: {} },
    async execute() { ${work}; return { content: [{ type: 'text', text: 'done' }] }; } }];`;
const hooks = (work: string): string => `export default { async llm_input() { ${work} } };`;
const CALLS_TOOL = JSON.stringify({
  steps: [{ toolCalls: [{ name: 'probe', arguments: {} }] }, { text: 'after the tool' }],
});

interface Place {
  name: string;
  /** Writes what it needs with this code at its place; gives the arguments of `run`. */
  prepare(code: string): Promise<string[]>;
}

const engineArgs = async (source: string): Promise<string[]> => {
  await writeFile(bench.at('probe.mjs'), source);
  return [...RUN, '--engine', './probe.mjs', 'hello'];
};
const PLACES: Place[] = [
  { name: 'an engine while it loads', prepare: (code) => engineArgs(engine({ load: code })) },
  { name: 'assemble()', prepare: (code) => engineArgs(engine({ assemble: code })) },
  { name: 'afterTurn()', prepare: (code) => engineArgs(engine({ afterTurn: code })) },
  {
    name: 'a hook',
    prepare: async (code) => {
      await writeFile(bench.at('hooks.mjs'), hooks(code));
      return [...RUN, '--hooks', './hooks.mjs', 'hello'];
    },
  },
  {
    name: 'a tool',
    prepare: async (code) => {
      await writeFile(bench.at('tools.mjs'), tools(code));
      await writeFile(bench.at('script.json'), CALLS_TOOL);
      return [...RUN, '--rehearse-script', 'script.json', '--tools', './tools.mjs', 'hello'];
    },
  },
];

const withJson = ([command = '', ...rest]: readonly string[]): string[] => [command, '--json', ...rest];

/** One line on stderr, and one settled line at the end of stdout, with this code. */
function expectFault(end: CliEnd, exit: number, code: string, names: string): void {
  expect(end).toMatchObject({ code: exit, signal: null });
  expect(end.stderr.split('\n')).toEqual([expect.stringContaining(names), '']);
  expect(end.stderr).toMatch(/^codex-attempt: /);
  const settled = ndjson(end.stdout).filter((event) => event['type'] === 'attempt.settled');
  expect(settled).toEqual([settledOf(end)]);
  expect(settled[0]).toMatchObject({ error: { code, message: expect.stringContaining(names) } });
}

describe.each(PLACES)('$name', ({ prepare }) => {
  it('that ends the process: exit 1 and never 0, and it is said', async () => {
    const end = await bench.run(withJson(await prepare('process.exit(0)')));
    expectFault(end, 1, 'internal', 'the process was ended from inside');
  });

  it('that throws later, outside of every call: the attempt ends in order, without a stack', async () => {
    const code =
      "setTimeout(() => { throw new Error('late, with api_key=abcdef'); }); await new Promise((done) => setTimeout(done, 200))";
    const end = await bench.run(withJson(await prepare(code)));
    expectFault(end, 1, 'internal', 'late, with api_key=[redacted]');
    expect(end.stderr).not.toMatch(/\bat .*:\d+/);
    const side = await readdir(bench.at('session.jsonl.attempt')).catch(() => []);
    expect(side).not.toContain('lock');
  });

  it('that leaves a rejection behind: the same', async () => {
    const code = "Promise.reject(new Error('stray')); await new Promise((done) => setTimeout(done, 200))";
    expectFault(await bench.run(withJson(await prepare(code))), 1, 'internal', 'stray');
  });

  it('that prints: stdout has the answer alone', async () => {
    const code =
      "console.log('printed'); process.stdout.write('printed'); process.stdout.end('printed'); console.info('printed'); console.table([1])";
    const args = await prepare(code);
    const plain = await bench.run(args);
    expect(plain).toMatchObject({ code: 0, stdout: args.includes('--tools') ? 'after the tool\n' : ANSWER });
    expect(plain.stderr.match(/printed/g)).toHaveLength(4);
    const json = await bench.run(withJson(args));
    expect(settledOf(json)).toMatchObject({ outcome: 'completed' });
    expect(json.stdout).not.toContain('printed');
  });
});

it('the stack of a throw outside of every call is in the log at level debug', async () => {
  const args = await engineArgs(
    engine({
      assemble: "setTimeout(() => { throw new Error('late'); }); await new Promise((done) => setTimeout(done, 200))",
    }),
  );
  const end = await bench.run([...args, '--log-level', 'debug']);
  expect(end.code).toBe(1);
  expect(end.stderr).toMatch(/Error: late.*at .*probe\.mjs:\d+/);
});

describe('a module that never finishes loading', () => {
  const never = 'await new Promise(() => undefined);';
  it.each([
    ['--engine', 'engine_invalid', `${never}\n${engine({})}`],
    ['--engine', 'engine_invalid', `export default { id: 'probe', async register() { ${never} } };`],
    ['--hooks', 'hooks_invalid', `${never}\n${hooks('')}`],
    ['--tools', 'tools_invalid', `${never}\n${tools('')}`],
  ])('%s: %s, exit 2, by name', async (flag, code, source) => {
    await writeFile(bench.at('stuck.mjs'), source);
    const end = await bench.run(withJson([...RUN, flag, './stuck.mjs', 'hello']));
    expectFault(end, 2, code, './stuck.mjs');
  });

  it.each(['doctor', 'reset'])('%s: no other exit code than those of the table', async (command) => {
    await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
    await writeFile(bench.at('stuck.mjs'), never);
    const args = command === 'reset' ? ['--session', 'session.jsonl'] : [];
    const env = { CODEX_API_KEY: 'sk-loopback-0123456789' };
    const end = await bench.run([command, ...args, '--engine', './stuck.mjs'], { env });
    expect(end.code).toBe(command === 'reset' ? 2 : 1);
    expect(end.stdout + end.stderr).toContain('./stuck.mjs could not be loaded');
    expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(SESSION_TEXT);
  });
});

describe('an engine that lets go', () => {
  it('never: a warning, and the exit code of the attempt', async () => {
    const end = await bench.run(await engineArgs(engine({ dispose: 'await new Promise(() => undefined)' })));
    expect(end).toMatchObject({
      code: 0,
      stdout: ANSWER,
      stderr: 'warning: the engine probe did not let go in 2 s (dispose)\n',
    });
  });

  it('by ending the process: the exit code of the attempt, and a warning', async () => {
    await writeFile(
      bench.at('fail.json'),
      JSON.stringify({ steps: [{ error: { status: 400, message: 'no such thing' } }] }),
    );
    const args = await engineArgs(engine({ dispose: 'process.exit(0)' }));
    const end = await bench.run([...args, '--rehearse-script', 'fail.json']);
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('warning: the process was ended from inside');
  });
});

it.each(['doctor', 'reset'])('%s with an engine that ends the process: exit 1 and a line', async (command) => {
  await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
  await writeFile(bench.at('ends.mjs'), 'process.exit(0);');
  const args = command === 'reset' ? ['--session', 'session.jsonl'] : [];
  const end = await bench.run([command, '--json', ...args, '--engine', './ends.mjs']);
  expect(end.code).toBe(1);
  expect(ndjson(end.stdout)).toEqual([
    { type: 'error', error: { code: 'internal', message: expect.stringContaining('ended from inside') } },
  ]);
});

it('a tool that fails is named on stderr, without its arguments', async () => {
  await writeFile(bench.at('tools.mjs'), tools("throw new Error('no')"));
  await writeFile(bench.at('script.json'), CALLS_TOOL);
  const args = [...RUN, '--rehearse-script', 'script.json', '--tools', './tools.mjs', 'hello'];
  expect(await bench.run(args)).toMatchObject({
    code: 0,
    stdout: 'after the tool\n',
    stderr: 'warning: the tool probe failed; the model was told why\n',
  });
});
