import { type EdgeRow, edgeRows, inputsOf } from '../../src/testing/paths/edge-table.ts';
import type { Graph } from '../../src/testing/paths/generate.ts';
import type { InputCase, MachineSuite } from '../../src/testing/paths/suite.ts';

/** A frozen edge table, taken apart by input, so that one input of a mutant can be compared without the others. */
export interface FrozenTable {
  /** The first line in which what a machine does for an input differs from the table (`+` new, `-` gone), or null. */
  difference(graph: Graph): string | null;
}

const lineOf = ({ inputs: _, ...row }: EdgeRow): string => JSON.stringify(row);

export function frozenTable(suite: MachineSuite, rows: readonly EdgeRow[]): FrozenTable {
  const lines = new Map<InputCase, Set<string>>(suite.inputs.map((input) => [input, new Set()]));
  for (const row of rows) {
    for (const input of inputsOf(suite.inputs, row.inputs)) lines.get(input)?.add(lineOf(row));
  }
  return {
    difference(graph) {
      const frozen = lines.get(graph.input);
      if (frozen === undefined) throw new Error(`the frozen table has no input ${graph.input.label}`);
      const now = edgeRows({ ...suite, inputs: [graph.input] }, [graph]).map(lineOf);
      const added = now.find((line) => !frozen.has(line));
      if (added !== undefined) return `+ ${added}`;
      const found = new Set(now);
      const gone = [...frozen].find((line) => !found.has(line));
      return gone === undefined ? null : `- ${gone}`;
    },
  };
}
