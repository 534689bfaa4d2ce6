import { actorMutants } from './actor-mutants.ts';
import { machineMutants } from './machine-mutants.ts';
import type { Family, Mutant } from './mutant.ts';

/** Each makes its mutants by itself; the report puts them into one table. */
export const families: readonly Family[] = [machineMutants, actorMutants];

/** The mutants of all families, in the same order every time. Throws when two have the same name. */
export async function allMutants(): Promise<Mutant[]> {
  const mutants = (await Promise.all(families.map((make) => make()))).flat();
  const seen = new Set<string>();
  for (const { name } of mutants) {
    if (seen.has(name)) throw new Error(`two mutants are called ${name}`);
    seen.add(name);
  }
  return mutants;
}
