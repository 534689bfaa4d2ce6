import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ATTEMPT_STATES, defaultBudgets } from '../../machines/index.ts';
import { RUN_FLAGS } from '../../src/cli/command-flags.ts';
import { EXIT } from '../../src/cli/exit.ts';
import { ERROR_MEANINGS } from '../../src/errors.ts';
import madeUp from '../paths/attempt.made-up.json' with { type: 'json' };
import counts from '../paths/counts.json' with { type: 'json' };
import chosen from '../real/attempt-paths.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(`${root}README.md`, 'utf8');

describe('README', () => {
  it('draws the machine as it is', () => {
    const check = spawnSync(process.execPath, [`${root}scripts/readme-diagram.mjs`, '--check'], { encoding: 'utf8' });
    expect(check.stderr).toBe('');
    expect(check.status).toBe(0);
  });

  it('names every state', () => {
    expect(ATTEMPT_STATES.filter((state) => !readme.includes(`| \`${state}\` |`))).toEqual([]);
  });

  it('names every flag of run', () => {
    const table = readme.slice(readme.indexOf('| flag of `run` |'), readme.indexOf('| exit code |'));
    const missing = Object.keys(RUN_FLAGS).filter((flag) => flag !== 'help' && !table.includes(`--${flag}`));
    // `-o` stands for `--output-last-message`.
    expect(missing).toEqual(['output-last-message']);
    expect(table).toContain('`-o FILE`');
  });

  it('has a page that says of every error code what it means', () => {
    const errors = readFileSync(`${root}docs/errors.md`, 'utf8');
    expect(
      Object.entries(ERROR_MEANINGS).filter(([code, says]) => !errors.includes(`| \`${code}\` | ${says} |`)),
    ).toEqual([]);
  });

  it('names every exit code', () => {
    const table = readme.slice(readme.indexOf('| exit code |'));
    expect(Object.values(EXIT).filter((code) => !table.includes(`| ${code} |`))).toEqual([]);
  });

  it('names every budget with its default', () => {
    const table = readme.slice(
      readme.indexOf('| step (`budgets`) |'),
      readme.indexOf('The command line sets `execution`'),
    );
    const named = [...table.matchAll(/`(\w+)` \| (\d+) (s|min|h) /g)].map(([, name, count, unit]) => [
      name,
      Number(count) * { s: 1000, min: 60_000, h: 3_600_000 }[unit as 's' | 'min' | 'h'],
    ]);
    expect(Object.fromEntries(named)).toEqual(defaultBudgets);
  });

  it('says how many paths there are, and how many of them run on the real app-server', () => {
    const rows = Object.entries(counts).map(([name, count]) => {
      const guards = count['guard outcomes'] === 0 ? '–' : count['guard outcomes'];
      const cells = [count.paths, count.states, count.transitions, guards, count.edges, count.pairs];
      return `| \`${name}\` | ${cells.join(' | ')} |`;
    });
    expect(rows.filter((row) => !readme.includes(row))).toEqual([]);
    expect(readme).toContain(`${chosen.length} paths, which have`);
    expect(readme).toContain(`${madeUp.length} edges of \`attempt\` cannot be`);
  });

  it('names only files that are there', () => {
    const named = [...readme.matchAll(/\]\(([^)#]+)\)|`((?:src|machines|docs|dist|test)\/[\w./-]+)`/g)].map(
      ([, link, file]) => link ?? file ?? '',
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((file) => !existsSync(`${root}${file}`))).toEqual([]);
  });
});
