import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> };

/** What a program of another package gets: the package may name itself. */
function node(args: readonly string[]): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? JSON.parse(stdout) : stderr;
}

describe('the package', () => {
  it.each([
    ['codex-attempt-machine', ['runAttempt', 'createServices', 'compactSession', 'AttemptError']],
    ['codex-attempt-machine/machines', ['attemptMachine', 'defaultBudgets']],
    ['codex-attempt-machine/engine', ['loadEngine', 'createWindowEngine', 'HOST_CAPABILITIES', 'default']],
    ['codex-attempt-machine/testing', ['suites', 'exploreAll', 'coveringPaths', 'createExecutor', 'commonInvariants']],
  ])('gives the same to import and to require: %s', (name, some) => {
    const required = node(['-p', `JSON.stringify(Object.keys(require('${name}')).sort())`]);
    const imported = node([
      '--input-type=module',
      '-e',
      `import * as all from '${name}'; console.log(JSON.stringify(Object.keys(all).sort()))`,
    ]);
    expect(imported).toEqual(expect.arrayContaining(some));
    // require adds a mark for bundlers to a module that has a default export.
    expect((required as string[]).filter((key) => key !== '__esModule')).toEqual(imported);
  });

  it('exports what the page on testing lists', async () => {
    const page = readFileSync(`${root}docs/testing.md`, 'utf8');
    const table = page.slice(page.indexOf('| export | |'), page.indexOf('## `@xstate/test`'));
    const rows = table.split('\n').map((line) => line.split('|')[1] ?? '');
    const listed = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ''));
    expect(listed.length).toBeGreaterThan(30);
    const exported = Object.keys(await import('../../src/testing/index.ts'));
    expect(listed.filter((name) => !exported.includes(name))).toEqual([]);
  });

  it('names every entry', () => {
    expect(Object.keys(manifest.exports)).toEqual(['.', './machines', './engine', './testing', './package.json']);
  });

  it('ships code, pages and licence, and neither sources nor tests', () => {
    const pack = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' });
    const [packed] = JSON.parse(pack.stdout) as { files: { path: string }[] }[];
    const paths = packed?.files.map((file) => file.path) ?? [];
    expect([...new Set(paths.map((file) => file.replace(/\/.*/, '/')))].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/',
      'docs/',
      'package.json',
    ]);
    expect(paths).toEqual(
      expect.arrayContaining([
        'docs/engines.md',
        'docs/hooks.md',
        'docs/rehearsal-scripts.md',
        'docs/sessions.md',
        'docs/tools.md',
        'dist/src/engine/contract.d.ts',
        'dist/src/engine/window.js',
        'dist/src/cli/main.js',
      ]),
    );
  });
});
