import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign } from 'xstate';
import type { AttemptContext, ProjectOutput } from '../../machines/attempt-types.ts';
import { attemptInvariants } from '../../src/testing/invariants/attempt.ts';
import { commonInvariants, violations } from '../../src/testing/invariants/invariant.ts';
import { edgeDiff, edgeRows } from '../../src/testing/paths/edge-table.ts';
import { createExecutor, deferredActors } from '../../src/testing/paths/execute.ts';
import { coveringPaths, exploreAll } from '../../src/testing/paths/generate.ts';
import { at, mutated } from '../../src/testing/paths/mutate.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import { immediately } from '../paths/path-suite.ts';

const original: AnyStateMachine = attemptSuite.machine;
const withGuard = (name: string, guard: (args: { context: AttemptContext; event: unknown }) => boolean) =>
  original.provide({ guards: { [name]: guard } });

/** The table of the machine itself is the frozen one (attempt.paths.test.ts); one input is enough to find these faults. */
const suite = {
  ...attemptSuite,
  inputs: attemptSuite.inputs.filter(({ group, label }) => group === 'turn' && label === 'bootstrap+maintain+compact'),
};
const rows = edgeRows(suite, exploreAll(suite));

/** What finds a fault: the edge table, and by which specification numbers the invariants do. */
async function killers(machine: AnyStateMachine): Promise<{ table: boolean; invariants: string[] }> {
  const mutant = { ...suite, machine };
  const graphs = exploreAll(mutant);
  const execute = createExecutor(mutant);
  const runs = await Promise.all(
    coveringPaths(graphs, 'edges').map((path) => execute(path, deferredActors(mutant, immediately))),
  );
  const broken = runs.flatMap((run) => violations([...commonInvariants, ...attemptInvariants], run));
  return {
    table: edgeDiff(rows, edgeRows(mutant, graphs)).length > 0,
    invariants: [...new Set(broken.map((one) => one.split(':')[0] ?? one))].sort(),
  };
}

describe('a fault planted in the attempt machine is found', () => {
  it('none: nothing is found in the machine itself', async () => {
    expect(await killers(original)).toEqual({ table: false, invariants: [] });
  });

  it('turn maintenance although aborted', async () => {
    const machine = withGuard(
      'maintenanceDue',
      ({ context }) =>
        context.outcome === 'completed' && context.finalization === 'ok' && context.engine?.maintain === true,
    );
    expect(await killers(machine)).toEqual({ table: true, invariants: ['2.11', 'M4'] });
  });

  it('turn maintenance although not finalized', async () => {
    const machine = withGuard(
      'maintenanceDue',
      ({ context }) => context.outcome === 'completed' && context.stop !== 'abort' && context.engine?.maintain === true,
    );
    expect(await killers(machine)).toEqual({ table: true, invariants: ['2.11'] });
  });

  it('a stale thread is retried without end', async () => {
    const machine = original.provide({
      guards: {
        staleForTheFirstTime: ({ event }: { event: unknown }) =>
          (event as { error?: { code?: string } }).error?.code === 'thread_stale',
      },
      actions: {
        rememberThread: assign({ thread: ({ event }) => (event as { output?: ProjectOutput }).output?.thread }),
      },
    });
    expect(await killers(machine)).toEqual({ table: true, invariants: ['2.4-2.8', 'M1', 'T1'] });
  });

  it('an overflow is never retried', async () => {
    const machine = withGuard('overflowCanBeCompacted', () => false);
    expect(await killers(machine)).toEqual({ table: true, invariants: ['K1'] });
  });

  it('a failed compaction becomes a fresh prompt', async () => {
    const machine = withGuard('roomWasMade', ({ context }) => context.request === 'turn' && context.stop === null);
    expect(await killers(machine)).toEqual({ table: true, invariants: ['K4'] });
  });

  it('an abort edge is dropped', async () => {
    const machine = mutated(original, (config) => {
      delete at(config, 'states', 'assembling', 'on')['ABORT'];
    });
    expect(await killers(machine)).toEqual({ table: true, invariants: ['E3', 'M4'] });
  });

  it('an error edge is dropped', async () => {
    const machine = mutated(original, (config) => {
      delete at(config, 'states', 'mirroring', 'invoke')['onError'];
    });
    expect(await killers(machine)).toEqual({ table: true, invariants: ['C1', 'E1', 'E3', 'M1'] });
  });

  it('finalizing comes before mirroring', async () => {
    const machine = mutated(original, (config) => {
      const mirroring = at(config, 'states', 'mirroring', 'invoke');
      const finalizing = at(config, 'states', 'finalizing', 'invoke');
      for (const key of ['id', 'src']) [mirroring[key], finalizing[key]] = [finalizing[key], mirroring[key]];
    });
    expect(await killers(machine)).toEqual({ table: true, invariants: ['2.11', 'E1', 'M1'] });
  });

  it('a timeout is removed', async () => {
    const machine = mutated(original, (config) => {
      delete at(config, 'states', 'assembling')['after'];
    });
    expect(await killers(machine)).toEqual({ table: true, invariants: [] });
  });

  it('the turn is not told that it is aborted', async () => {
    const machine = mutated(original, (config) => {
      at(config, 'states', 'turning', 'states', 'running', 'on', 'ABORT')['actions'] = 'stopForAbort';
    });
    expect(await killers(machine)).toEqual({ table: false, invariants: ['M4'] });
  });
});
