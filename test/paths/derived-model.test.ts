import { createTestModel } from '@xstate/test';
import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { createTestModel as createGraphModel } from 'xstate/graph';
import { extremes, inputName } from '../../src/testing/paths/counts.ts';
import { derivedMachine, derivedOptions } from '../../src/testing/paths/derived-model.ts';
import { explore } from '../../src/testing/paths/generate.ts';
import { stateId } from '../../src/testing/paths/suite.ts';
import { suites } from '../../src/testing/suites/index.ts';
import counts from './counts.json' with { type: 'json' };

interface ModelPath {
  state: AnyMachineSnapshot;
  steps: readonly { state: AnyMachineSnapshot; event: EventObject }[];
}

/** Each machine for its inputs with least and most to do, with the number of paths that were there when it was frozen. */
const models = suites.flatMap((suite) => {
  const frozen: Record<string, number> = counts[suite.name as keyof typeof counts].derived;
  return extremes(suite).map((input) => ({
    machine: suite.name,
    name: inputName(input),
    suite,
    input,
    least: frozen[inputName(input)] ?? Number.NaN,
  }));
});

describe('the pure model derived from the production configuration', () => {
  it.each(models)(
    'of $machine ($name): @xstate/test and xstate/graph find the same paths',
    async ({ suite, input, least }) => {
      const model = derivedMachine(suite, input);
      const { options, labelOf } = derivedOptions(suite, input);
      const ours = createTestModel(model, options).getShortestPaths();
      const theirs = createGraphModel(model, options).getShortestPaths();
      // A step is an event and the state it led to; the first one is the start.
      const text = ({ steps }: ModelPath) =>
        steps.map(({ state, event }) => `${labelOf(event)} → ${stateId(state.value)}`).join(' → ');
      const [found, expected] = [ours as ModelPath[], theirs as ModelPath[]];
      expect(found.map(text).sort()).toEqual(expected.map(text).sort());
      expect(found.filter(({ state }) => state.status === 'error')).toEqual([]);

      expect(found.length).toBeGreaterThanOrEqual(least);

      // Each path can be run by the package: it visits the states that it says.
      const visited: string[] = [];
      for (const path of ours) {
        await path.test({ states: { '*': (state: AnyMachineSnapshot) => void visited.push(stateId(state.value)) } });
      }
      expect(visited).toEqual(found.flatMap(({ steps }) => steps.map(({ state }) => stateId(state.value))));

      // It moves as the production machine does, and in no other way.
      const moves = (edges: readonly string[][]) =>
        [...new Set(edges.filter(([from, , to]) => from !== to).map((edge) => edge.join(' | ')))].sort();
      const modelled = found.flatMap(({ steps }) =>
        steps
          .slice(1)
          .map(({ state, event }, index) => [
            stateId(steps[index]?.state.value ?? ''),
            labelOf(event),
            stateId(state.value),
          ]),
      );
      const real = [...explore(suite, input).nodes.values()].flatMap(({ edges }) =>
        edges.map(({ state, label, next }) => [state, label, next]),
      );
      expect(moves(modelled)).toEqual(moves(real));
    },
  );
});
