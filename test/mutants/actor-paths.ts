import { createDirectedExecutor, type DirectedRun } from '../../src/testing/director/execute.ts';
import { attemptInvariants } from '../../src/testing/invariants/attempt.ts';
import { commonInvariants, violations } from '../../src/testing/invariants/invariant.ts';
import { portViolations } from '../../src/testing/invariants/ports.ts';
import { inputName } from '../../src/testing/paths/counts.ts';
import { coveringPaths, explore, type Path } from '../../src/testing/paths/generate.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import type { Verdict } from './mutant.ts';

/** One path, and in which of several ways its ports bring about what it says. */
export interface ActorPath {
  path: Path;
  variant: number;
}

const INPUTS = ['turn bootstrap+maintain+compact', 'compact bootstrap+maintain+compact'];

/** The paths that mutants of the work of an attempt are led along, those first that find most. */
export function actorPaths(): ActorPath[] {
  return INPUTS.flatMap((name) => {
    const input = attemptSuite.inputs.find((one) => inputName(one) === name);
    if (input === undefined) throw new Error(`the attempt has no input ${name}`);
    return coveringPaths([explore(attemptSuite, input)], 'edges').flatMap((path, variant) =>
      variantsOf(path).map((more) => ({ path, variant: variant + more })),
    );
  });
}

/** What a crash left is closed by several ports in a row, each of which may answer too late. */
function variantsOf({ steps }: Path): number[] {
  const isLeft = steps.some(({ state, label }) => state === 'bootstrap.recovering' && /^(?:ABORT|after)/.test(label));
  return isLeft ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] : [0];
}

const forcedOf = ({ forced }: DirectedRun): string[] => forced.map(({ step, label }) => `${step} ${label}`);
const specsOf = (broken: readonly string[]): string[] =>
  [...new Set(broken.map((one) => one.split(':')[0] ?? one))].sort();

/** What no port can bring about on each of the paths. Throws when the product itself does not stand one of them. */
export async function forcedSteps(): Promise<string[][]> {
  const execute = createDirectedExecutor(attemptSuite);
  const found: string[][] = [];
  for (const { path, variant } of actorPaths()) {
    const run = await execute(path, { variant });
    const { killedBy, why } = judge(run, forcedOf(run));
    if (killedBy !== null) throw new Error(`the work of an attempt does not stand its own paths: ${why}`);
    found.push(forcedOf(run));
  }
  return found;
}

function judge(run: DirectedRun, forced: readonly string[]): Verdict {
  const broken = [...portViolations(run), ...violations([...commonInvariants, ...attemptInvariants], run)];
  const more = run.forced.find(({ step, label }) => !forced.includes(`${step} ${label}`));
  const left = run.mismatch ?? (more === undefined ? null : `${more.label} had to be made up: ${more.why}`);
  const invariants = specsOf(broken);
  if (left !== null) return { killedBy: 'execution', why: left, invariants };
  return { killedBy: broken.length === 0 ? null : 'invariants', why: broken[0] ?? '', invariants };
}

/** What the paths find in the product as it is loaded here. `forced`: what `forcedSteps` says. */
export async function findingOf(forced: readonly (readonly string[])[]): Promise<Verdict> {
  const execute = createDirectedExecutor(attemptSuite);
  for (const [index, { path, variant }] of actorPaths().entries()) {
    const verdict = judge(await execute(path, { variant }), forced[index] ?? []);
    if (verdict.killedBy !== null) return verdict;
  }
  return { killedBy: null, why: '', invariants: [] };
}
