// The two machines inside an attempt, with their real work, on every path.
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { stateMachines } from '../../src/attempt/actors.ts';
import { type ChildRun, type ChildSteps, createChildExecutor } from '../../src/testing/director/child.ts';
import { compactionSteps } from '../../src/testing/director/compaction-steps.ts';
import { turnSteps } from '../../src/testing/director/turn-steps.ts';
import { compactionInvariants, turnInvariants } from '../../src/testing/invariants/children.ts';
import { commonInvariants, type Invariant, violations } from '../../src/testing/invariants/invariant.ts';
import { coveringPaths, exploreAll, reduced } from '../../src/testing/paths/generate.ts';
import type { MachineSuite } from '../../src/testing/paths/suite.ts';
import { pathTitles } from '../../src/testing/paths/titles.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { turnSuite } from '../../src/testing/suites/turn.ts';

interface Child {
  suite: MachineSuite;
  real: AnyStateMachine;
  steps: ChildSteps;
  invariants: readonly Invariant[];
  /** Edges that nothing outside can bring about. */
  madeUp: readonly string[];
}

const children: Readonly<Record<string, Child>> = {
  turn: {
    suite: turnSuite,
    real: stateMachines.turn,
    steps: turnSteps,
    invariants: turnInvariants,
    madeUp: [
      // Once it has said that the turn is over, the app-server says no more of it that counts, and asks for no tools.
      'draining | EFFECT | draining',
      'draining | INTERRUPT yield | draining',
      // What is waited for keeps its failures to itself.
      'draining | error drain | settled',
    ],
  },
  compaction: {
    suite: compactionSuite,
    real: stateMachines.compaction,
    steps: compactionSteps,
    invariants: compactionInvariants,
    // The end of a native compaction is waited for as long as the machine lets it.
    madeUp: ['interrupting | error interruptNative | settled'],
  },
};

describe.each(Object.entries(children))('the real work of the %s machine', (_name, child) => {
  const { suite, real, steps, invariants, madeUp } = child;
  const graphs = exploreAll(suite);
  const paths = coveringPaths(graphs);
  const titles = pathTitles(paths);
  const execute = createChildExecutor(suite, real, steps);
  const met = new Set<string>();

  const broken = (run: ChildRun): string[] => [
    ...(run.mismatch === null ? [] : [run.mismatch]),
    ...violations([...commonInvariants, ...invariants], run),
  ];

  for (const [index, path] of paths.entries()) {
    it(titles[index] ?? '', async () => {
      const run = await execute(path);
      expect(broken(run)).toEqual([]);
      const first = Math.min(path.steps.length, ...run.forced);
      for (const step of path.steps.slice(0, first)) met.add(reduced(step));
    });
  }

  it('is brought about from outside, but for the listed steps', () => {
    const all = new Set(paths.flatMap((path) => path.steps.map(reduced)));
    expect([...all].filter((edge) => !met.has(edge)).sort()).toEqual(madeUp);
  });
});
