import type { CoverageRow } from '../paths/coverage.ts';
import { type ListedPath, type Proof, percentOf } from './listing.ts';

const KEYS = {
  states: 'states',
  transitions: 'transitions',
  'guard outcomes': 'guardOutcomes',
  edges: 'edges',
  pairs: 'pairs',
} as const satisfies Record<CoverageRow['what'], string>;

/**
 * One JSON document, one line for each path: `{ version, machines: [{ name, coverage, broken, paths }] }`. `version` is
 * that of the package; `coverage` has `{ met, of, percent, missing }` for each of states, transitions, guardOutcomes,
 * edges and pairs; `broken` is empty when every path ran as it says.
 */
export function json(proofs: readonly Proof[], version: string): string {
  const machines = proofs.map(({ listing, rows, broken }) => {
    const coverage = rows.map((row) => {
      const { what, met, of, missing } = row;
      return [KEYS[what], { met, of, percent: percentOf(row), missing }];
    });
    const lines = [
      `"name":${JSON.stringify(listing.suite.name)}`,
      `"coverage":${JSON.stringify(Object.fromEntries(coverage))}`,
      `"broken":${JSON.stringify(broken)}`,
      `"paths":[\n${listing.paths.map(pathLine).join(',\n')}\n]`,
    ];
    return `{${lines.join(',\n')}}`;
  });
  return `{"version":${JSON.stringify(version)},"machines":[\n${machines.join(',\n')}\n]}\n`;
}

function pathLine({ id, title, input, outcome, path }: ListedPath): string {
  const steps = path.steps.map(({ label, state, next, effect = '' }) => ({
    event: label,
    from: state,
    to: next,
    effect,
  }));
  return JSON.stringify({ id, title, input, outcome, steps });
}
