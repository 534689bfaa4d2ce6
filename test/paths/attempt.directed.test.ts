import { afterAll, describe, expect, it } from 'vitest';
import { createDirectedExecutor, type DirectedRun } from '../../src/testing/director/execute.ts';
import { attemptInvariants } from '../../src/testing/invariants/attempt.ts';
import { commonInvariants, violations } from '../../src/testing/invariants/invariant.ts';
import { portViolations } from '../../src/testing/invariants/ports.ts';
import { inputName } from '../../src/testing/paths/counts.ts';
import { coverageLine, createCoverage } from '../../src/testing/paths/coverage.ts';
import { coveringPaths, exploreAll, reduced } from '../../src/testing/paths/generate.ts';
import { pathTitles } from '../../src/testing/paths/titles.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import madeUp from './attempt.made-up.json' with { type: 'json' };

const graphs = exploreAll(attemptSuite);
const paths = coveringPaths(graphs);
const titles = pathTitles(paths);
const coverage = createCoverage(attemptSuite);
const execute = createDirectedExecutor(attemptSuite, coverage);

const broken = (run: DirectedRun): string[] => [
  ...(run.mismatch === null ? [] : [run.mismatch]),
  ...portViolations(run),
  ...violations([...commonInvariants, ...attemptInvariants], run),
];

/** Steps that a port has brought about, in the short form of the edge table. */
const real = new Set<string>();
const noteReal = ({ path, forced }: DirectedRun): void => {
  // What comes after a step that was made up would not have come either.
  const first = Math.min(path.steps.length, ...forced.map(({ step }) => step));
  for (const step of path.steps.slice(0, first)) real.add(reduced(step));
};

/** Engines that take all their ways once more: none, one that maintains, one that does everything; and each that only compacts. */
const otherWays = graphs
  .map((graph, index) => ({ name: inputName(graph.input), graph, index }))
  .filter(({ name }) => /^compact |^turn (?:none|maintain|bootstrap\+maintain\+compact)$/.test(name));

describe('the real work of an attempt, on every path', () => {
  for (const [index, path] of paths.entries()) {
    it(titles[index] ?? '', async () => {
      const run = await execute(path, { variant: index });
      expect(broken(run)).toEqual([]);
      noteReal(run);
    });
  }

  // A port fails in several ways: by an error, by an answer that makes no sense, by none at all, by one that is too late.
  it.each(otherWays)('with other ways of going wrong: $name', async ({ graph, index }) => {
    const found: string[] = [];
    for (const [at, path] of coveringPaths([graph], 'edges').entries()) {
      const run = await execute(path, { variant: at + index });
      noteReal(run);
      found.push(...broken(run).map((what) => `${path.steps.map(({ label }) => label).join(' → ')}: ${what}`));
    }
    expect(found).toEqual([]);
  });

  it('is brought about by ports, but for the steps of which the list says why not', () => {
    const all = new Set(paths.flatMap(({ steps }) => steps.map(reduced)));
    expect([...all].filter((edge) => !real.has(edge)).sort()).toEqual(madeUp.map(({ edge }) => edge));
  });

  it('is covered by these paths', () => {
    expect(coverage.rows(graphs).flatMap(({ what, missing }) => missing.map((name) => `${what}: ${name}`))).toEqual([]);
  });

  afterAll(() => {
    const rows = coverage.rows(graphs);
    process.stdout.write(`${coverageLine('attempt, real work', rows, paths.length)}; made up ${madeUp.length} edges\n`);
  });
});
