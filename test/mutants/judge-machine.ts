import { createMachine } from 'xstate';
import type { Invariant } from '../../src/testing/invariants/invariant.ts';
import { invariantsOf } from '../../src/testing/invariants/of-machine.ts';
import { checkMachine } from '../../src/testing/paths/check-machine.ts';
import { extremes } from '../../src/testing/paths/counts.ts';
import type { EdgeRow } from '../../src/testing/paths/edge-table.ts';
import { createExecutor, deferredActors, type Executor } from '../../src/testing/paths/execute.ts';
import { coveringPaths, explore, type Graph, type Path } from '../../src/testing/paths/generate.ts';
import { type Config, editedConfig } from '../../src/testing/paths/mutate.ts';
import { type InputCase, type MachineSuite, stateId } from '../../src/testing/paths/suite.ts';
import type { Run } from '../../src/testing/paths/walk.ts';
import { everyState, invokesOf, nameOf, stateTree } from './config.ts';
import type { Parts } from './edit.ts';
import { frozenTable } from './frozen.ts';
import type { Verdict } from './mutant.ts';
import { isNew, stepsOf } from './new-paths.ts';

/** Says of a changed machine whether anything finds the change. */
export type MachineJudge = (parts: Parts) => Promise<Verdict>;

/** Paths that run at the same time; after each batch the invariants may already have found the mutant. */
const BATCH = 25;

/** A machine that moves on by itself without end throws, instead of never coming back. */
const MAX_MICROSTEPS = 1_000;

/** About ten times what the largest machine needs for one input; a mutant that needs more finds new states for ever. */
const MAX_STEPS = 20_000;

/** So many inputs of a machine are all looked at; of more, the extreme ones come first. */
const FEW = 4;

const immediately = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The machine did not do what its own configuration says. */
function leftItsPath({ mismatch, snapshots, path }: Run): boolean {
  const last = snapshots.at(-1);
  if (mismatch === null || last === undefined || last.status === 'error') return false;
  const step = path.steps[snapshots.length - 2];
  return snapshots.length <= path.steps.length || (step !== undefined && step.next !== stateId(last.value));
}

/** What the paths of a mutant show, once they have been run. */
type Finding = Pick<Verdict, 'killedBy' | 'why'> & { invariants: readonly string[] };

/** Runs these paths of a mutant, until something is found. */
async function runPaths(
  suite: MachineSuite,
  execute: Executor,
  paths: readonly Path[],
  invariants: readonly Invariant[],
): Promise<Finding> {
  for (let from = 0; from < paths.length; from += BATCH) {
    const batch = paths.slice(from, from + BATCH);
    const runs = await Promise.all(batch.map((path) => execute(path, deferredActors(suite, immediately))));
    const left = runs.find(leftItsPath);
    if (left !== undefined) return { killedBy: 'execution', why: left.mismatch ?? '', invariants: [] };
    const broken = invariants.filter((invariant) => runs.some((run) => !invariant.holds(run)));
    const [first] = broken;
    if (first === undefined) continue;
    const specs = [...new Set(broken.map(({ spec }) => spec))].sort();
    return { killedBy: 'invariants', why: `${first.spec}: ${first.says}`, invariants: specs };
  }
  return { killedBy: null, why: '', invariants: [] };
}

/** Which work is done where. */
const workOf = (config: Config): string =>
  JSON.stringify(
    everyState(stateTree(config)).map((state) => [nameOf(state), invokesOf(state).map(({ id, src }) => [id, src])]),
  );

/**
 * Makes the judge of the mutants of one machine. It looks at the names, explores the mutant and compares what it can do
 * with the frozen table, one input after the other until there is a difference; extreme inputs come first, as they find
 * most.
 *
 * Then the paths of the mutant run, and the invariants are asked. Without a difference: all paths that cover its edges,
 * for every input. With one: only for the inputs that come first, and, where the same work is done, only what the
 * machine itself cannot do, since that has broken no invariant.
 */
export function machineJudge(suite: MachineSuite, frozen: readonly EdgeRow[]): MachineJudge {
  const table = frozenTable(suite, frozen);
  const invariants = invariantsOf(suite.name);
  const ownWork = workOf(editedConfig(suite.machine.config, () => undefined));
  const first = suite.inputs.length <= FEW ? suite.inputs : extremes(suite);
  const inputs = [...new Set([...first, ...suite.inputs])];
  const known = new Map<InputCase, ReadonlySet<string>>();
  const knownOf = (input: InputCase): ReadonlySet<string> => {
    const steps = known.get(input) ?? stepsOf(explore(suite, input));
    known.set(input, steps);
    return steps;
  };
  return async ({ config, implementations }) => {
    const [fault] = checkMachine({ config, implementations });
    if (fault !== undefined) return { killedBy: 'check', why: fault, invariants: null };
    const graphs: Graph[] = [];
    let difference: string | null = null;
    let mutant: MachineSuite;
    try {
      const bounded: Config = { ...config, options: { maxIterations: MAX_MICROSTEPS } };
      mutant = { ...suite, machine: createMachine(bounded, implementations) };
      for (const input of inputs) {
        if (difference !== null && !first.includes(input)) break;
        const graph = explore(mutant, input, { limit: MAX_STEPS });
        graphs.push(graph);
        difference ??= table.difference(graph);
      }
    } catch (error) {
      return { killedBy: 'exploration', why: messageOf(error), invariants: null };
    }
    const execute = createExecutor(mutant);
    const everyPath = difference === null || workOf(config) !== ownWork;
    for (const graph of graphs.filter(({ input }) => difference === null || first.includes(input))) {
      const paths = coveringPaths([graph], 'edges');
      const some = everyPath ? paths : paths.filter((path) => isNew(path, knownOf(graph.input)));
      const found = await runPaths(mutant, execute, some, invariants);
      if (found.killedBy === null) continue;
      return difference === null ? found : { killedBy: 'table', why: difference, invariants: found.invariants };
    }
    return { killedBy: difference === null ? null : 'table', why: difference ?? '', invariants: [] };
  };
}
