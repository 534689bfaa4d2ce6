// Every outcome of every state with the real app-server, and faults that are injected between it and the attempt: the
// fewest paths that have them all, as `npm run paths:choose` found them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDirectedExecutor, type DirectedRun } from '../../src/testing/director/execute.ts';
import { attemptInvariants } from '../../src/testing/invariants/attempt.ts';
import { commonInvariants, violations } from '../../src/testing/invariants/invariant.ts';
import { portViolations } from '../../src/testing/invariants/ports.ts';
import { inputName } from '../../src/testing/paths/counts.ts';
import { exploreAll, type Path, reduced, targets } from '../../src/testing/paths/generate.ts';
import { pathTitles } from '../../src/testing/paths/titles.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import madeUp from '../paths/attempt.made-up.json' with { type: 'json' };
import { type RehearsalBench, type RehearsedSession, rehearsalBench } from '../support/rehearsed.ts';
import { rehearsedStage } from '../support/rehearsed-stage.ts';
import chosen from './attempt-paths.json' with { type: 'json' };

const graphs = exploreAll(attemptSuite);
const paths = chosen.map(({ input, steps }) => pathOf(input, steps));

/** The path with these event cases. */
function pathOf(input: string, labels: readonly string[]): Path {
  const graph = graphs.find((one) => inputName(one.input) === input);
  if (graph === undefined) throw new Error(`there is no input ${input}`);
  let key = graph.start;
  const steps = labels.map((label) => {
    const edge = graph.nodes.get(key)?.edges.find((one) => one.label === label);
    if (edge === undefined) throw new Error(`${label} cannot happen here any more: run npm run paths:choose`);
    key = edge.to;
    return edge;
  });
  return { suite: graph.suite, input: graph.input, steps };
}

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench({ streamMaxRetries: 0, requestMaxRetries: 0 });
});
afterAll(async () => {
  await bench.close();
  expect(bench.processes()).toEqual([]);
});

/** What is wrong with a run, and with what it left on disk. */
async function faults(run: DirectedRun, session: RehearsedSession): Promise<string[]> {
  const keys = (await session.rows()).flatMap((row) => row.idempotencyKey ?? []);
  const store = session.store();
  // The session was given back: it can be taken again.
  await store.transcript.open(new AbortController().signal);
  await store.transcript.close();
  return [
    ...(run.mismatch === null ? [] : [run.mismatch]),
    ...run.forced.map(({ label, why }) => `${label} was made up: ${why}`),
    ...(new Set(keys).size === keys.length ? [] : [`a row is there twice: ${keys.join()}`]),
    ...portViolations(run),
    ...violations([...commonInvariants, ...attemptInvariants], run),
  ];
}

describe('every outcome of every state on the real app-server', () => {
  const titles = pathTitles(paths);

  it('is among these paths, but for those that no port can bring about', () => {
    const met = new Set(paths.flatMap(({ steps }) => steps.map(reduced)));
    const unmet = [...targets(graphs).edges].filter((edge) => !met.has(edge));
    // A thread that is bound lies beside its session file.
    const unbound = [
      'bootstrap.opening | done open: no file, bound | bootstrap.draining',
      'bootstrap.opening | done open: no file, bound, journal | bootstrap.recovering',
    ];
    expect(unmet.sort()).toEqual([...unbound, ...madeUp.map(({ edge }) => edge)].sort());
  });

  for (const [index, path] of paths.entries()) {
    it(titles[index] ?? '', async () => {
      const sessions: RehearsedSession[] = [];
      const execute = createDirectedExecutor(attemptSuite, undefined, async (...about) => {
        const { stage, session } = await rehearsedStage(bench, ...about);
        sessions.push(session);
        return stage;
      });
      const run = await execute(path, { variant: chosen[index]?.variant });
      const [session] = sessions;
      expect(session === undefined ? ['no session'] : await faults(run, session)).toEqual([]);
    });
  }
});
