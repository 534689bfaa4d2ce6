import { afterAll, describe, expect, it } from 'vitest';
import { commonInvariants, type Invariant, violations } from '../../src/testing/invariants/invariant.ts';
import type { Counts } from '../../src/testing/paths/counts.ts';
import { coverageLine, createCoverage } from '../../src/testing/paths/coverage.ts';
import { type EdgeRow, edgeDiff, edgeRows } from '../../src/testing/paths/edge-table.ts';
import { createExecutor, deferredActors } from '../../src/testing/paths/execute.ts';
import { coveringPaths, exploreAll } from '../../src/testing/paths/generate.ts';
import type { MachineSuite } from '../../src/testing/paths/suite.ts';
import { pathTitles } from '../../src/testing/paths/titles.ts';
import type { Run } from '../../src/testing/paths/walk.ts';

/** One macrotask turn, as short as the platform has it. */
export const immediately = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * The tests of one machine: its edges are the frozen ones, every path runs on it as generated and keeps the
 * invariants, and together the paths cover everything.
 */
export function testPaths(
  suite: MachineSuite,
  frozen: EdgeRow[],
  invariants: readonly Invariant[],
  counts: Omit<Counts, 'derived'>,
): void {
  const graphs = exploreAll(suite);
  const paths = coveringPaths(graphs);
  const coverage = createCoverage(suite);
  const execute = createExecutor(suite, coverage);

  it('has exactly the edges of the frozen table', () => {
    expect(edgeDiff(frozen, edgeRows(suite, graphs))).toEqual([]);
  });

  it('loses no edge by the facts that its identity drops', () => {
    // The last input is the one with most to do.
    const input = suite.inputs.filter(({ group }, at) => group !== suite.inputs[at + 1]?.group);
    const some = { ...suite, inputs: input };
    const identity = (context: object) => JSON.stringify({ ...context, degraded: null });
    expect(edgeDiff(edgeRows(some, exploreAll(some)), edgeRows(some, exploreAll(some, { identity })))).toEqual([]);
  });

  describe('path', () => {
    const titles = pathTitles(paths);
    for (const [at, path] of paths.entries()) {
      it(titles[at] ?? '', async () => {
        const run: Run = await execute(path, deferredActors(suite, immediately));
        expect(run.mismatch).toBeNull();
        expect(violations([...commonInvariants, ...invariants], run)).toEqual([]);
      });
    }
  });

  it('is covered by these paths', () => {
    const rows = coverage.rows(graphs);
    expect(Object.fromEntries(rows.map(({ what, missing }) => [what, missing]))).toEqual({
      states: [],
      transitions: [],
      'guard outcomes': [],
      edges: [],
      pairs: [],
    });
    const of = Object.fromEntries(rows.map((row) => [row.what, row.of]));
    const { states, transitions, 'guard outcomes': outcomes, edges, pairs } = counts;
    expect(of).toEqual({ states, transitions, 'guard outcomes': outcomes, edges, pairs });
    expect(paths.length).toBe(counts.paths);
  });

  afterAll(() => {
    process.stdout.write(`${coverageLine(suite.name, coverage.rows(graphs), paths.length)}\n`);
  });
}
