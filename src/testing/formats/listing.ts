import { createHash } from 'node:crypto';
import { violations } from '../invariants/invariant.ts';
import { invariantsOf } from '../invariants/of-machine.ts';
import { inputName } from '../paths/counts.ts';
import { type CoverageRow, createCoverage } from '../paths/coverage.ts';
import { createExecutor, deferredActors } from '../paths/execute.ts';
import { coveringPaths, exploreAll, type Graph, type Path } from '../paths/generate.ts';
import type { MachineSuite } from '../paths/suite.ts';
import { outcomeOf, pathTitles } from '../paths/titles.ts';

/** What the paths of a list cover: each step a machine can take, or also each two steps in a row. */
export const COVERAGES = ['pairs', 'edges'] as const;
export type CoverageWanted = (typeof COVERAGES)[number];

/** A path with its names. `id` follows from input and events alone, so it stays when states are renamed. */
export interface ListedPath {
  id: string;
  title: string;
  /** Name of the machine input. */
  input: string;
  outcome: string;
  path: Path;
}

/** The paths of one machine. */
export interface Listing {
  suite: MachineSuite;
  graphs: readonly Graph[];
  coverage: CoverageWanted;
  paths: readonly ListedPath[];
}

/** What came of running the paths of a list on their machine. */
export interface Proof {
  listing: Listing;
  rows: readonly CoverageRow[];
  /** The paths that left the machine or broke an invariant. */
  broken: readonly { id: string; title: string; problem: string }[];
}

/** Lists paths that cover a machine. A path has the same title in the shorter list and in the longer one. */
export function listPaths(suite: MachineSuite, coverage: CoverageWanted): Listing {
  const graphs = exploreAll(suite);
  const lists = COVERAGES.map((wanted) => coveringPaths(graphs, wanted));
  const all = new Map(lists.flat().map((path) => [idOf(path), path]));
  const titles = pathTitles([...all.values()]);
  const titleOf = new Map([...all.keys()].map((id, at) => [id, titles[at] ?? id]));
  const paths = (lists[COVERAGES.indexOf(coverage)] ?? []).map((path) => {
    const id = idOf(path);
    return { id, title: titleOf.get(id) ?? id, input: inputName(path.input), outcome: outcomeOf(path), path };
  });
  return { suite, graphs, coverage, paths };
}

/** Hexadecimal digits of a path's id: no two of some thousand paths share them. */
const ID_DIGITS = 10;

function idOf({ suite, input, steps }: Path): string {
  const text = JSON.stringify([inputName(input), ...steps.map(({ label }) => label)]);
  return `${suite.name}-${createHash('sha256').update(text).digest('hex').slice(0, ID_DIGITS)}`;
}

const immediately = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs each path of a list on its machine, with actors that do what the path says, and measures what was covered. */
export async function provePaths(listing: Listing): Promise<Proof> {
  const { suite, graphs, paths } = listing;
  const coverage = createCoverage(suite);
  const execute = createExecutor(suite, coverage);
  const invariants = invariantsOf(suite.name);
  const broken: { id: string; title: string; problem: string }[] = [];
  for (const { id, title, path } of paths) {
    const run = await execute(path, deferredActors(suite, immediately));
    const problems = run.mismatch === null ? violations(invariants, run) : [run.mismatch];
    for (const problem of problems) broken.push({ id, title, problem });
  }
  return { listing, rows: coverage.rows(graphs), broken };
}

/** Hundredths, rounded down to one decimal, so that only all of them are 100. None of none is 100. */
export function percentOf({ met, of }: Pick<CoverageRow, 'met' | 'of'>): number {
  return of === 0 ? 100 : Math.floor((met / of) * 1_000) / 10;
}
