import { createTestModel } from 'xstate/graph';
import { createCoverage } from './coverage.ts';
import { derivedMachine, derivedOptions } from './derived-model.ts';
import { coveringPaths, exploreAll } from './generate.ts';
import type { InputCase, MachineSuite } from './suite.ts';

/** How much there is of one machine. `derived`: paths of its pure model, by input. */
export interface Counts {
  states: number;
  transitions: number;
  'guard outcomes': number;
  edges: number;
  pairs: number;
  paths: number;
  derived: Record<string, number>;
}

/** The name of an input on its own: `turn none`, `any`. */
export const inputName = ({ group, label }: InputCase): string => `${group} ${label}`.trim();

/** The inputs with least and most to do of each group: what they do not reach, no other input reaches. */
export const extremes = ({ inputs }: MachineSuite): InputCase[] =>
  inputs.filter(({ group }, at) => group !== inputs[at - 1]?.group || group !== inputs[at + 1]?.group);

/** Counts a machine as it is. */
export function countSuite(suite: MachineSuite): Counts {
  const graphs = exploreAll(suite);
  const rows = createCoverage(suite).rows(graphs);
  const of = (what: string) => rows.find((row) => row.what === what)?.of ?? 0;
  const derived = extremes(suite).map((input): [string, number] => {
    const model = createTestModel(derivedMachine(suite, input), derivedOptions(suite, input).options);
    return [inputName(input), model.getShortestPaths().length];
  });
  return {
    states: of('states'),
    transitions: of('transitions'),
    'guard outcomes': of('guard outcomes'),
    edges: of('edges'),
    pairs: of('pairs'),
    paths: coveringPaths(graphs).length,
    derived: Object.fromEntries(derived),
  };
}
