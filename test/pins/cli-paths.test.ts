import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { suites } from '../../src/testing/suites/index.ts';
import counts from '../paths/counts.json' with { type: 'json' };
import { type CliBench, openBench } from '../support/cli.ts';
import { documentOf, type Part } from '../support/paths-document.ts';

describe('codex-attempt paths', () => {
  let bench: CliBench;
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(async () => {
    await bench.close();
  });

  it('lists every path of every machine, and covers all of it', async () => {
    const end = await bench.run(['paths', '--format', 'json']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const { machines } = documentOf(end.stdout);
    const all = (of: number): Part => ({ met: of, of, percent: 100, missing: [] });
    expect(machines.map(({ name, coverage, broken }) => ({ name, coverage, broken }))).toEqual(
      suites.map(({ name }) => {
        const { states, transitions, 'guard outcomes': guards, edges, pairs } = counts[name as keyof typeof counts];
        return {
          name,
          coverage: {
            states: all(states),
            transitions: all(transitions),
            guardOutcomes: all(guards),
            edges: all(edges),
            pairs: all(pairs),
          },
          broken: [],
        };
      }),
    );
    for (const { name, paths: listed } of machines) {
      expect(listed).toHaveLength(counts[name].paths);
      expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
      expect(new Set(listed.map(({ title }) => title)).size).toBe(listed.length);
      const gaps = listed.filter(({ steps }) => steps.some(({ to }, at) => to !== (steps[at + 1]?.from ?? to)));
      expect(gaps).toEqual([]);
    }
    expect(
      machines.flatMap((one) => one.paths).find(({ title }) => title === 'the turn completes → completed'),
    ).toEqual({
      id: 'turn-2d39a0b862',
      title: 'the turn completes → completed',
      input: 'any',
      outcome: 'completed',
      steps: [
        { event: 'done request', from: 'requesting.plain', to: 'running', effect: '' },
        { event: 'COMPLETED completed', from: 'running', to: 'draining', effect: 'status=completed' },
        { event: 'done drain', from: 'draining', to: 'settled', effect: 'output completed' },
      ],
    });
  });

  it.each([
    [['--machine', 'attemp'], 'unknown machine "attemp"; known: attempt, turn, compaction, app-server'],
    [['--format', 'svg'], 'unknown format "svg"; known: summary, json, markdown, mermaid, vitest'],
    [['--coverage', 'all'], 'unknown coverage "all"; known: pairs, edges'],
    [['attempt'], 'unexpected argument "attempt"'],
    [['--machine'], '--machine needs a value: NAME'],
    [['--frob'], 'unknown flag --frob'],
  ])('%j is a usage error that names the help', async (args, problem) => {
    expect(await bench.run(['paths', ...args])).toEqual({
      code: 2,
      signal: null,
      stdout: '',
      stderr: `codex-attempt: ${problem} (see \`codex-attempt paths --help\`)\n`,
    });
  });

  it('names its flags in the help', async () => {
    const end = await bench.run(['paths', '--help']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect([...end.stdout.matchAll(/ --([a-z]+)(?= |$)/gm)].map(([, name]) => name)).toEqual(
      expect.arrayContaining(['machine', 'format', 'coverage', 'help']),
    );
  });

  it('ends quietly when nobody reads on', async () => {
    const { child, sees, ended } = bench.start(['paths', '--format', 'vitest', '--machine', 'turn']);
    await sees('stdout', 'describe(');
    child.stdout.destroy();
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});
