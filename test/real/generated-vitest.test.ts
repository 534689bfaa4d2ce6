import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/**
 * What `codex-attempt paths --format vitest` writes, in a project that has nothing but the packed package, as the user
 * of that package has it. Runs after a build, as `npm test` does.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const modules = path.join(root, 'node_modules');

let project: string;
const at = (...names: string[]): string => path.join(project, ...names);

function run(command: string, args: readonly string[], cwd = project) {
  const env = { PATH: process.env['PATH'], HOME: project, NO_COLOR: '1', npm_config_offline: 'true' };
  return spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1_024 * 1_024 });
}

interface Report {
  testResults: {
    name: string;
    assertionResults: { ancestorTitles: string[]; title: string; status: string; failureMessages: string[] }[];
  }[];
}

/** What became of the tests of one file: how many passed, and each that failed with the first line of its error. */
interface Ran {
  passed: number;
  failed: { title: string; message: string }[];
}
const ran = new Map<string, Ran>();
const tests = (text: string): number => text.match(/^ {2}it\(/gm)?.length ?? 0;

/** The compaction machine, but what interrupts the native one ends it at once. */
const RETARGETED = `createMachine(
  {
    ...compactionMachine.config,
    states: {
      ...compactionMachine.config.states,
      'native-running': {
        ...compactionMachine.config.states?.['native-running'],
        on: { INTERRUPT: 'settled' },
      },
    },
  } as AnyStateMachine['config'],
  compactionMachine.implementations as never,
)`;

const generated: Record<string, string> = {};

beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'codex-attempt-generated-'));
  await mkdir(at('node_modules'));
  const pack = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], root);
  const [{ filename }] = JSON.parse(pack.stdout) as [{ filename: string }];
  expect(run('tar', ['-xzf', filename]).stderr).toBe('');
  await rename(at('package'), at('node_modules', 'codex-attempt-machine'));
  const manifest = JSON.parse(await readFile(at('node_modules', 'codex-attempt-machine', 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(manifest.dependencies), 'vitest', 'typescript', '@types/node']) {
    await mkdir(path.dirname(at('node_modules', name)), { recursive: true });
    await symlink(path.join(modules, name), at('node_modules', name));
  }
  await writeFile(at('package.json'), JSON.stringify({ private: true, type: 'module' }));

  const main = at('node_modules', 'codex-attempt-machine', 'dist', 'src', 'cli', 'main.js');
  const paths = (...args: string[]): string => {
    const { status, stdout, stderr } = run(process.execPath, [main, 'paths', '--format', 'vitest', ...args]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  };
  const compaction = paths('--machine', 'compaction');
  Object.assign(generated, {
    compaction,
    attempt: paths('--machine', 'attempt', '--coverage', 'edges'),
    retargeted: compaction
      .replace('\nconst compaction = compactionMachine;\n', `\nconst compaction = ${RETARGETED};\n`)
      .replace("from 'vitest';\n", "from 'vitest';\nimport { type AnyStateMachine, createMachine } from 'xstate';\n"),
    // The first path on which the engine compacts, and then Codex.
    edited: compaction.replace(
      "['done compactEngine: compacted', 'native-requested', ",
      "['done compactEngine: compacted', 'settled', ",
    ),
  });
  for (const [name, text] of Object.entries(generated)) await writeFile(at(`${name}.test.ts`), text);

  const vitest = path.join(modules, 'vitest', 'vitest.mjs');
  run(process.execPath, [
    vitest,
    'run',
    '--root',
    project,
    '--reporter=json',
    '--outputFile=report.json',
    '--maxWorkers=2',
  ]);
  const report = JSON.parse(await readFile(at('report.json'), 'utf8')) as Report;
  for (const { name, assertionResults } of report.testResults) {
    ran.set(path.basename(name, '.test.ts'), {
      passed: assertionResults.filter(({ status }) => status === 'passed').length,
      failed: assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ title, failureMessages }) => ({ title, message: failureMessages[0]?.split('\n')[0] ?? '' })),
    });
  }
});
afterAll(async () => {
  await rm(project, { recursive: true, force: true });
});

describe('the generated test file', () => {
  it.each(['compaction', 'attempt'])('of the %s machine passes, one test for each path', (name) => {
    const count = tests(generated[name] ?? '');
    expect(count).toBeGreaterThan(30);
    expect(ran.get(name)).toEqual({ passed: count, failed: [] });
  });

  it('fails for a machine with one edge retargeted, and names the paths', () => {
    const { passed, failed } = ran.get('retargeted') ?? { passed: 0, failed: [] };
    const interrupted = /(?:^|→ )stopped while Codex compacts/;
    const all = [...(generated['compaction'] ?? '').matchAll(/^ {2}it\('(.*)', \(\) =>$/gm)].map(([, title]) => title);
    const expected = all.filter((title) => interrupted.test(title ?? ''));
    expect(expected.length).toBeGreaterThan(5);
    expect(failed.map(({ title }) => title)).toEqual(expected);
    expect(passed).toBe(all.length - expected.length);
    expect(failed[0]).toEqual({
      title: 'the engine cannot compact → stopped while Codex compacts → failed',
      message:
        'Error: compaction, owner, native wanted: step 3, INTERRUPT in native-running: ' +
        'expected interrupting; found settled',
    });
  });

  it('fails where one expected state was edited', () => {
    const { passed, failed } = ran.get('edited') ?? { passed: 0, failed: [] };
    expect(passed).toBe(tests(generated['compaction'] ?? '') - 1);
    expect(failed).toEqual([
      {
        title: 'the engine compacts → stopped before Codex begins → stopped again → compacted by the engine',
        message:
          'Error: compaction, owner, native wanted: step 1, done compactEngine: compacted in engine-compacting: ' +
          'expected settled; found native-requested',
      },
    ]);
  });

  it('holds in a strict TypeScript project', () => {
    const tsc = path.join(modules, 'typescript', 'bin', 'tsc');
    const files = ['attempt.test.ts', 'retargeted.test.ts'];
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    expect(run(process.execPath, [tsc, ...flags, ...files]).stdout).toBe('');
  });
});
