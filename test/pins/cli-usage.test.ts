import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliBench, type CliOptions, ndjson, openBench, SESSION_TEXT, settledOf } from '../support/cli.ts';

let bench: CliBench;
beforeEach(async () => {
  bench = await openBench();
  await writeFile(bench.at('session.jsonl'), SESSION_TEXT);
});
afterEach(async () => {
  await bench.close();
});

/** What is wrong, how it is called, and what must come of it. `%` in `args` stands for the test's folder. */
interface BadInput {
  name: string;
  args: string[];
  files?: Record<string, string>;
  options?: CliOptions;
  exit: number;
  code: string;
  /** What the line on stderr must name. */
  names: string;
}

const RUN = ['run', '--rehearse', '--session', 'session.jsonl'];
const NO_ENGINE = 'export default { info: { id: "half", name: "Half" }, assemble() {} };';
const THROWS = 'throw new Error("broken with key sk-abcdefghijklmnop");';
const NEEDY =
  'export default { info: { id: "needy", name: "Needy", hostRequirements: { "agent-run": { requiredCapabilities: ["mind-reading"] } } }, ' +
  'ingest() {}, assemble({ messages }) { return { messages }; }, compact() { return { ok: true, compacted: false }; } };';
/** An app-server of an old version: it answers `initialize` and nothing else. */
const OLD_CODEX = `#!${process.execPath}
process.stdin.once('data', (line) => console.log(JSON.stringify({ id: JSON.parse(line).id, result: {
  userAgent: 'codex-attempt-machine/0.100.0 (Linux) (codex-attempt-machine; 0.1.0)',
  codexHome: '/', platformFamily: 'unix', platformOs: 'linux' } })));
process.stdin.on('end', () => process.exit(0));
`;
const CRASHING_CODEX = '#!/bin/sh\necho "cannot go on" >&2\nexit 3\n';
const LOUD_CODEX = '#!/bin/sh\nwhile :; do printf "\\033[31m\\001noise\\007\\n"; done\n';
const TOO_LONG = '😀'.repeat(1_048_577);

const BAD_INPUTS: BadInput[] = [
  {
    name: 'no such engine file',
    args: [...RUN, '--engine', './none.mjs', 'hi'],
    exit: 2,
    code: 'engine_not_found',
    names: 'none.mjs',
  },
  {
    name: 'an engine that is not one',
    args: [...RUN, '--engine', './half.mjs', 'hi'],
    files: { 'half.mjs': NO_ENGINE },
    exit: 2,
    code: 'engine_invalid',
    names: 'ingest',
  },
  {
    name: 'an engine that cannot be loaded',
    args: [...RUN, '--engine', './bad.mjs', 'hi'],
    files: { 'bad.mjs': THROWS },
    exit: 2,
    code: 'engine_invalid',
    names: 'bad.mjs',
  },
  {
    name: 'an engine that needs what is not here',
    args: [...RUN, '--engine', './needy.mjs', 'hi'],
    files: { 'needy.mjs': NEEDY },
    exit: 2,
    code: 'engine_requirements',
    names: 'mind-reading',
  },
  {
    name: 'engine configuration that is not JSON',
    args: [...RUN, '--engine', 'example', '--engine-config', '{', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--engine-config',
  },
  {
    name: 'no such hooks module',
    args: [...RUN, '--hooks', './none.mjs', 'hi'],
    exit: 2,
    code: 'hooks_invalid',
    names: 'none.mjs',
  },
  {
    name: 'a tools module without tools',
    args: [...RUN, '--tools', './half.mjs', 'hi'],
    files: { 'half.mjs': NO_ENGINE },
    exit: 2,
    code: 'tools_invalid',
    names: 'half.mjs',
  },
  {
    name: 'a session path that is a folder',
    args: ['run', '--rehearse', '--session', 'folder', 'hi'],
    exit: 2,
    code: 'session_not_a_file',
    names: 'folder',
  },
  {
    name: 'a session path below a file',
    args: ['run', '--rehearse', '--session', 'session.jsonl/x.jsonl', 'hi'],
    exit: 2,
    code: 'session_unreadable',
    names: 'x.jsonl',
  },
  {
    name: 'a file that is not a session',
    args: ['run', '--rehearse', '--session', 'notes.txt', 'hi'],
    files: { 'notes.txt': 'milk\nbread\n' },
    exit: 2,
    code: 'session_invalid',
    names: 'notes.txt',
  },
  {
    name: 'a binary that is missing',
    args: [...RUN, 'hi'],
    options: { env: { CODEX_PATH: './no-codex' } },
    exit: 1,
    code: 'codex_not_found',
    names: 'no-codex',
  },
  {
    name: 'a binary that is too old',
    args: [...RUN, 'hi'],
    files: { 'old-codex': OLD_CODEX },
    options: { env: { CODEX_PATH: './old-codex' } },
    exit: 1,
    code: 'codex_too_old',
    names: '0.100.0',
  },
  {
    name: 'a binary that crashes',
    args: [...RUN, 'hi'],
    files: { 'bad-codex': CRASHING_CODEX },
    options: { env: { CODEX_PATH: './bad-codex' } },
    exit: 1,
    code: 'codex_crashed',
    names: 'cannot go on',
  },
  { name: 'an empty prompt', args: [...RUN, ''], exit: 2, code: 'prompt_empty', names: 'empty' },
  { name: 'a prompt of spaces', args: [...RUN, ' \n\t '], exit: 2, code: 'prompt_empty', names: 'empty' },
  { name: 'an empty pipe', args: RUN, exit: 2, code: 'prompt_empty', names: 'empty' },
  {
    name: 'a prompt over the limit',
    args: [...RUN, '-'],
    options: { stdin: TOO_LONG },
    exit: 2,
    code: 'prompt_too_large',
    names: '1048577 characters; Codex takes at most 1048576',
  },
  { name: 'several words', args: [...RUN, 'two', 'words'], exit: 2, code: 'usage', names: 'quotes' },
  { name: 'an unknown flag', args: [...RUN, '--sesion', 'x', 'hi'], exit: 2, code: 'usage', names: '--sesion' },
  {
    name: 'a flag without its value',
    args: [...RUN, '--engine', '--quiet', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--engine',
  },
  { name: 'a value for a switch', args: [...RUN, '--quiet=yes', 'hi'], exit: 2, code: 'usage', names: '--quiet' },
  {
    name: 'a timeout that is none',
    args: [...RUN, '--timeout', '-5', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--timeout',
  },
  {
    name: 'a token budget that is none',
    args: [...RUN, '--token-budget', '1e5', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--token-budget',
  },
  {
    name: 'an unknown sandbox',
    args: [...RUN, '--sandbox', 'none', 'hi'],
    exit: 2,
    code: 'usage',
    names: 'workspace-write',
  },
  {
    name: 'a working folder that is not there',
    args: [...RUN, '--cwd', 'nowhere', 'hi'],
    exit: 2,
    code: 'usage',
    names: 'nowhere',
  },
  {
    name: 'recorded requests without a rehearsal',
    args: ['run', '--session', 'session.jsonl', '--record-requests', 'r.ndjson', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--rehearse',
  },
  {
    name: 'a trace into the session',
    args: [...RUN, '--trace', './session.jsonl', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--trace',
  },
  ...['-o', '--trace', '--record-requests'].flatMap((flag): BadInput[] => {
    const name = flag === '-o' ? '--output-last-message' : flag;
    return [
      {
        name: `${flag} on a folder`,
        args: [...RUN, flag, 'folder', 'hi'],
        exit: 2,
        code: 'usage',
        names: `${name} needs a file`,
      },
      {
        name: `${flag} in a folder that is not there`,
        args: [...RUN, flag, 'nowhere/file', 'hi'],
        exit: 2,
        code: 'usage',
        names: `${name}: there is no folder`,
      },
      {
        name: `${flag} below a file`,
        args: [...RUN, flag, 'session.jsonl/file', 'hi'],
        exit: 2,
        code: 'usage',
        names: 'session.jsonl is not a folder',
      },
      {
        name: `${flag} on the file of another flag`,
        args: [...RUN, flag, './out', flag === '-o' ? '--trace' : '-o', 'folder/../out', 'hi'],
        exit: 2,
        code: 'usage',
        names: 'name the same file',
      },
      {
        name: `${flag} on the script`,
        args: [...RUN, '--rehearse-script', 'script.json', flag, './script.json', 'hi'],
        files: { 'script.json': '{"steps":[]}' },
        exit: 2,
        code: 'usage',
        names: `${name} and --rehearse-script name the same file`,
      },
    ];
  }),
  {
    name: 'a flag that is given twice',
    args: [...RUN, '--model', 'a', '--model', 'b', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--model is given twice',
  },
  {
    name: 'a prompt that begins with -',
    args: [...RUN, '--do this'],
    exit: 2,
    code: 'usage',
    names: 'goes behind --',
  },
  {
    name: 'engine configuration without an engine',
    args: [...RUN, '--engine-config', '{}', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--engine-config needs an engine',
  },
  {
    name: 'a prompt with a NUL',
    args: [...RUN, '-'],
    options: { stdin: 'a\0b' },
    exit: 2,
    code: 'usage',
    names: 'NUL',
  },
  {
    name: 'a new session without a home',
    args: ['run', '--rehearse', 'hi'],
    options: { env: { HOME: '', CODEX_ATTEMPT_HOME: '' } },
    exit: 2,
    code: 'usage',
    names: '--session, or set CODEX_ATTEMPT_HOME',
  },
  {
    name: 'a binary that is a folder',
    args: [...RUN, 'hi'],
    options: { env: { CODEX_PATH: './folder' } },
    exit: 1,
    code: 'codex_not_found',
    names: 'CODEX_PATH',
  },
  {
    name: 'a binary that is not executable',
    args: [...RUN, 'hi'],
    options: { env: { CODEX_PATH: './session.jsonl' } },
    exit: 1,
    code: 'codex_not_found',
    names: 'CODEX_PATH',
  },
  {
    name: 'a binary that writes something else without end',
    args: [...RUN, 'hi'],
    files: { 'loud-codex': LOUD_CODEX },
    options: { env: { CODEX_PATH: './loud-codex' } },
    exit: 1,
    code: 'codex_crashed',
    names: 'noise',
  },
  {
    name: 'an output into a folder that is not there',
    args: [...RUN, '-o', 'nowhere/out.txt', 'hi'],
    exit: 2,
    code: 'usage',
    names: '--output-last-message',
  },
  {
    name: 'a script with a wrong step',
    args: ['run', '--session', 'session.jsonl', '--rehearse-script', 'script.json', 'hi'],
    files: { 'script.json': '{"steps":[{"txt":"x"}]}' },
    exit: 2,
    code: 'usage',
    names: 'steps[0].txt',
  },
  {
    name: 'an unknown key in the project file',
    args: [...RUN, 'hi'],
    files: { '.codex-attemptrc.json': '{"modell":"x"}' },
    exit: 2,
    code: 'usage',
    names: '"modell"',
  },
  {
    name: 'an engine in the project file',
    args: [...RUN, 'hi'],
    files: { '.codex-attemptrc.json': '{"engine":"./bad.mjs"}', 'bad.mjs': THROWS },
    exit: 2,
    code: 'usage',
    names: 'may not set "engine"',
  },
  {
    name: 'a wrong value in the user file',
    args: [...RUN, 'hi'],
    files: { 'home/config.json': '{"timeout":"soon"}' },
    exit: 2,
    code: 'usage',
    names: 'timeout in ',
  },
];

describe('bad input', () => {
  for (const bad of BAD_INPUTS) {
    it(`${bad.name}: one line, exit ${bad.exit}, nothing written`, async () => {
      await prepare(bad);
      const end = await bench.run(bad.args, bad.options);
      expect(end).toMatchObject({ code: bad.exit, signal: null, stdout: '' });
      expect(end.stderr.split('\n')).toEqual([expect.stringMatching(/^codex-attempt: /), '']);
      expect(end.stderr).toContain(bad.names);
      expect(end.stderr).not.toContain('sk-abc');
      expect(end.stderr).not.toMatch(/(?!\n)\p{Cc}/u);
      expect(await readFile(bench.at('session.jsonl'), 'utf8')).toBe(SESSION_TEXT);
      expect(await readdir(bench.folder)).not.toContain('.codex-attempt');
    });
  }

  // One of each code: what differs from the plain output does not depend on the input.
  const oneOfEach = new Map(BAD_INPUTS.map((bad) => [bad.code, bad]));
  for (const bad of oneOfEach.values()) {
    it(`${bad.code}: --json ends with attempt.settled that has the code`, async () => {
      await prepare(bad);
      const [command = '', ...rest] = bad.args;
      const end = await bench.run([command, '--json', ...rest], bad.options);
      expect(end.code).toBe(bad.exit);
      expect(settledOf(end)).toMatchObject({
        type: 'attempt.settled',
        outcome: 'failed',
        error: { code: bad.code, message: expect.stringContaining(bad.names) },
      });
    });
  }

  async function prepare(bad: BadInput): Promise<void> {
    await mkdir(bench.at('folder'));
    await mkdir(bench.at('home'));
    for (const [name, text] of Object.entries(bad.files ?? {})) {
      await writeFile(bench.at(name), text);
      if (name.endsWith('codex')) await chmod(bench.at(name), 0o755);
    }
  }
});

describe('--json of a command that fails', () => {
  it.each([
    [['show', '--json'], 2, 'usage', '--session is needed'],
    [['show', '--json', '--sesion', 'x'], 2, 'usage', '--sesion'],
    [['show', '--session', 'none.jsonl', '--json'], 4, 'session_not_found', 'none.jsonl'],
    [['reset', '--json', '--session', 'none.jsonl'], 4, 'session_not_found', 'none.jsonl'],
    [['reset', '--json', '--session', 'session.jsonl', '--engine', './none.mjs'], 2, 'engine_not_found', 'none.mjs'],
    [['doctor', '--json', '--model', 'x'], 2, 'usage', '--model'],
    [['doctor', '--json', '--json'], 2, 'usage', '--json is given twice'],
    [['frob', '--json'], 2, 'usage', 'frob'],
  ])('%j: one line with the code on stdout, one on stderr', async (args, exit, code, names) => {
    const end = await bench.run(args);
    expect(end.code).toBe(exit);
    expect(end.stderr.split('\n')).toEqual([expect.stringContaining(names), '']);
    expect(ndjson(end.stdout)).toEqual([{ type: 'error', error: { code, message: expect.stringContaining(names) } }]);
  });

  it.each([
    [['--sesion', 'x'], 2, '', 'usage', '--sesion'],
    [['--session'], 2, '', 'usage', '--session needs a value'],
    [['--session', 'session.jsonl', 'word'], 2, 'session.jsonl', 'usage', 'unexpected argument "word"'],
    [['--session', 'session.jsonl', '--engine', './no.mjs'], 2, 'session.jsonl', 'engine_not_found', 'no.mjs'],
    [['--session', 'session.jsonl', '--timeout', 'soon'], 2, 'session.jsonl', 'usage', '--timeout is "soon"'],
    [['--session', 'none.jsonl'], 4, 'none.jsonl', 'session_not_found', 'none.jsonl'],
  ])('compact %j: compaction.settled all the same', async (args, exit, session, code, names) => {
    const end = await bench.run(['compact', '--json', ...args]);
    expect(end.code).toBe(exit);
    expect(end.stderr.split('\n')).toEqual([expect.stringContaining(names), '']);
    expect(ndjson(end.stdout)).toEqual([
      {
        type: 'compaction.settled',
        ok: false,
        compacted: false,
        primary: 'native',
        reason: 'not_attempted',
        tokensBefore: null,
        tokensAfter: null,
        details: {
          codexNativeCompaction: {
            backend: 'codex-app-server',
            ok: false,
            compacted: false,
            reason: 'not_attempted',
          },
        },
        attemptId: null,
        outcome: 'failed',
        sessionFile: session === '' ? '' : bench.at(session),
        sessionId: null,
        degraded: [],
        error: { code, message: expect.stringContaining(names) },
      },
    ]);
  });

  it.each([
    ['an unknown flag', ['--json', '--sesion', 'x', 'hi']],
    ['--json that is taken for a value', ['--engine', '--json', 'hi']],
    ['--json with a value', ['--json=yes', 'hi']],
  ])('run with %s: attempt.settled all the same', async (_, args) => {
    const end = await bench.run(['run', ...args]);
    expect(end.code).toBe(2);
    expect(ndjson(end.stdout)).toEqual([
      expect.objectContaining({
        type: 'attempt.settled',
        outcome: 'failed',
        error: expect.objectContaining({ code: 'usage' }),
      }),
    ]);
  });

  it('what follows -- asks for nothing', async () => {
    const end = await bench.run(['run', '--frob', '--', '--json']);
    expect(end).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('commands', () => {
  it.each([
    [['frob'], 'unknown command frob'],
    [['--frob'], 'unknown flag --frob'],
    [['compact'], '--session is needed'],
    [['compact', '--session', 'session.jsonl', 'keep the names'], 'unexpected argument "keep the names"'],
    [['compact', '--session', 'session.jsonl', '--instructions', ''], '--instructions needs a value: TEXT'],
    [['compact', '--session', 'session.jsonl', '--instructions', ' '], '--instructions is empty'],
    [['compact', '--session', 'session.jsonl', '--tools', './t.mjs'], 'unknown flag --tools'],
    [['compact', '--session', 'session.jsonl', '--record-requests', 'r'], '--record-requests needs a rehearsal'],
    [['compact', '--session', 'session.jsonl', '--cwd', 'nowhere'], '--cwd: there is no folder'],
    [['paths', '--machine', 'frob'], 'unknown machine "frob"; known: attempt, turn, compaction, app-server'],
    [['conform'], 'which engine? Name one: PATH_OR_PACKAGE[#ID], or example'],
    [['conform', 'example', 'more'], 'unexpected argument "more"'],
    [['conform', 'example', '--timeout', '0'], '--timeout 0 would wait for a call without end'],
    [['visualize'], '`visualize` is not yet in this version'],
    [['show'], '--session is needed'],
    [['show', 'session.jsonl'], 'unexpected argument "session.jsonl"'],
    [['reset', '--session'], '--session needs a value'],
    [['doctor', '--model', 'x'], 'unknown flag --model'],
  ])('%j is a usage error that names the help', async (args, problem) => {
    const end = await bench.run(args);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain(problem);
    expect(end.stderr).toMatch(/codex-attempt (\w+ )?--help/);
  });

  it.each(['show', 'reset', 'compact'])('%s: no such session is exit 4, and none is made', async (command) => {
    const end = await bench.run([command, '--session', 'none.jsonl']);
    expect(end).toMatchObject({ code: 4, stdout: '' });
    expect(end.stderr).toContain('none.jsonl');
    expect(await readdir(bench.folder)).toEqual(['codex-home', 'session.jsonl']);
  });

  it('help goes to stdout and names every command and flag', async () => {
    const whole = await bench.run(['--help']);
    expect(whole).toMatchObject({ code: 0, stderr: '' });
    for (const command of ['run', 'show', 'reset', 'doctor', 'compact', 'paths', 'conform', 'visualize']) {
      expect(whole.stdout).toContain(command);
    }
    const run = await bench.run(['run', '--help']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect([...run.stdout.matchAll(/--([a-z-]+)(?= |$)/gm)].map(([, name]) => name)).toEqual(
      expect.arrayContaining(
        (
          'session engine engine-config hooks tools model cwd sandbox token-budget timeout rehearse rehearse-script ' +
          'record-requests json output-last-message trace trace-text log-level progress quiet help'
        ).split(' '),
      ),
    );
    expect((await bench.run(['help', 'run'])).stdout).toBe(run.stdout);
  });

  it('the help of compact names its flags and exit codes', async () => {
    const end = await bench.run(['compact', '--help']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect([...end.stdout.matchAll(/^ {2}(?:-\w, | {4})--([a-z-]+)(?= )/gm)].map(([, name]) => name)).toEqual(
      (
        'session instructions engine engine-config hooks model cwd token-budget timeout rehearse rehearse-script ' +
        'record-requests json trace trace-text log-level progress quiet help'
      ).split(' '),
    );
    expect(end.stdout).toContain(
      'Exit codes: 0 compacted, or the engine had nothing to; 1 failed, 2 usage, 3 --timeout ran out, 4 no such session, 130 aborted.',
    );
    expect(end.stdout).toContain('stdin is not read');
  });

  it('without a command the help goes to stderr and the exit is 2', async () => {
    const end = await bench.run([]);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain('Usage: codex-attempt COMMAND');
  });

  it('--version prints the version of the package', async () => {
    const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await bench.run(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });
});
