import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type AnyStateNode, createMachine } from 'xstate';
import { compactionMachine } from '../../machines/index.ts';
import type { CliIo, OutputStream } from '../../src/cli/io.ts';
import { paths } from '../../src/cli/paths.ts';
import { listPaths, percentOf, provePaths } from '../../src/testing/formats/listing.ts';
import type { MachineSuite } from '../../src/testing/paths/suite.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { suites } from '../../src/testing/suites/index.ts';
import counts from '../paths/counts.json' with { type: 'json' };
import { documentOf } from '../support/paths-document.ts';

interface Called {
  code: number;
  stdout: string;
  stderr: string;
}

/** Calls the command in this process. */
async function call(args: readonly string[], machines?: readonly MachineSuite[]): Promise<Called> {
  const text = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof text): OutputStream => ({
    write(chunk, done) {
      text[name] += chunk;
      done?.();
      return true;
    },
    on: () => undefined,
  });
  const io: CliIo = {
    env: {},
    cwd: '/',
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
  };
  return { code: await paths(args, io, machines), ...text };
}

/** The compaction machine, but what interrupts the native one ends it at once. */
const retargeted: MachineSuite = {
  ...compactionSuite,
  machine: createMachine(
    {
      ...compactionMachine.config,
      states: {
        ...compactionMachine.config.states,
        'native-running': { ...compactionMachine.config.states?.['native-running'], on: { INTERRUPT: 'settled' } },
      },
    } as never,
    compactionMachine.implementations as never,
  ),
};

describe('paths --format summary', () => {
  it('is a line for each machine, and what came of it', async () => {
    expect(await call(['--machine', 'compaction'])).toEqual({
      code: 0,
      stdout: `machine     states     transitions  guard outcomes  edges        pairs        paths
compaction  8/8 100 %  29/29 100 %  6/6 100 %       30/30 100 %  59/59 100 %  85

all 85 paths ran on their machines as they say, and kept every invariant
`,
      stderr: '',
    });
  });

  it('says that the shorter list leaves pairs out', async () => {
    expect(await call(['--machine', 'compaction', '--coverage', 'edges'])).toEqual({
      code: 0,
      stdout: `machine     states     transitions  guard outcomes  edges        pairs         paths
compaction  8/8 100 %  29/29 100 %  6/6 100 %       30/30 100 %  37/59 62.7 %  63

all 63 paths ran on their machines as they say, and kept every invariant
these paths take every edge once; --coverage pairs lists more, which take every two edges in a row
`,
      stderr: '',
    });
  });

  it('names the paths that break an invariant, and exits with 1', async () => {
    const end = await call([], [retargeted]);
    expect(end.code).toBe(1);
    expect(end.stdout).toContain('\n5 of 81 paths left their machine or broke an invariant\n');
    expect(end.stderr.split('\n').slice(0, 2)).toEqual([
      'compaction: the engine cannot compact → stopped while Codex compacts → failed (compaction-9ce63c0a5a)',
      '  K5: a native compaction that is to stop, or ran out of time, is interrupted once',
    ]);
  });
});

it('a path that its machine does not go is told with where it was left', async () => {
  const { broken } = await provePaths({ ...listPaths(compactionSuite, 'edges'), suite: retargeted });
  expect(broken.length).toBeGreaterThan(0);
  expect([...new Set(broken.map(({ problem }) => problem.replace(/^step \d+/, 'step N')))].sort()).toEqual([
    'step N, INTERRUPT in native-running: expected interrupting; found settled',
  ]);
});

describe('paths --format json', () => {
  it('of the shorter list says which pairs are missing', async () => {
    const { code, stdout } = await call(['--format', 'json', '--machine', 'compaction', '--coverage', 'edges']);
    const [machine] = documentOf(stdout).machines;
    expect(code).toBe(0);
    expect(machine?.coverage.edges).toEqual({ met: 30, of: 30, percent: 100, missing: [] });
    expect(machine?.coverage.pairs).toMatchObject({ met: 37, of: 59, percent: 62.7 });
    expect(machine?.coverage.pairs.missing).toHaveLength(22);
  });

  it('has the same paths in both lists under the same id and title', async () => {
    const [edges, pairs] = await Promise.all(
      ['edges', 'pairs'].map(async (coverage) => {
        const { stdout } = await call(['--format', 'json', '--machine', 'app-server', '--coverage', coverage]);
        return documentOf(stdout).machines[0]?.paths ?? [];
      }),
    );
    const known = new Map(pairs?.map((path) => [path.id, path]));
    const both = edges?.filter(({ id }) => known.has(id)) ?? [];
    expect(both.length).toBeGreaterThan(10);
    expect(both.map(({ id }) => known.get(id))).toEqual(both);
  });

  it('lists what is broken', async () => {
    const { code, stdout } = await call(['--format', 'json'], [retargeted]);
    expect(code).toBe(1);
    expect(documentOf(stdout).machines[0]?.broken[0]).toEqual({
      id: 'compaction-9ce63c0a5a',
      title: 'the engine cannot compact → stopped while Codex compacts → failed',
      problem: 'K5: a native compaction that is to stop, or ran out of time, is interrupted once',
    });
  });
});

it('percents are rounded down', () => {
  expect([
    percentOf({ met: 0, of: 0 }),
    percentOf({ met: 759, of: 760 }),
    percentOf({ met: 9_999, of: 10_000 }),
  ]).toEqual([100, 99.8, 99.9]);
});

it('paths --format markdown is a table for each machine', async () => {
  const { code, stdout } = await call(['--format', 'markdown', '--machine', 'compaction', '--coverage', 'edges']);
  const lines = stdout.split('\n');
  expect(code).toBe(0);
  expect(lines.slice(0, 9)).toEqual([
    '## compaction',
    '',
    'One compaction: the engine first, the native thread second.',
    '',
    '63 paths. Covered: states 8/8 (100 %), transitions 29/29 (100 %), guard outcomes 6/6 (100 %), edges 30/30 (100 %), ' +
      'pairs 37/59 (62.7 %).',
    '',
    '| path | what happens | input | outcome | steps |',
    '|---|---|---|---|---:|',
    '| `compaction-fda23cdf22` | the engine cannot compact → stopped before Codex begins → stopped again → failed | ' +
      'owner, native wanted | failed | 4 |',
  ]);
  expect(lines.slice(8, -1).filter((line) => /^\| `compaction-[0-9a-f]{10}` \| .+ \| \d+ \|$/.test(line))).toHaveLength(
    63,
  );
});

describe('paths --format mermaid', () => {
  it('draws the states of one machine', async () => {
    expect((await call(['--format', 'mermaid', '--machine', 'app-server'])).stdout).toBe(`stateDiagram-v2
  state "starting" as app_server_starting
  state "ready" as app_server_ready
  state "draining" as app_server_draining {
    state "closing" as app_server_draining_closing
    state "terminating" as app_server_draining_terminating
    state "killing" as app_server_draining_killing
    [*] --> app_server_draining_closing
    app_server_draining_closing --> app_server_draining_killing: RETIRE
    app_server_draining_closing --> app_server_draining_terminating: closeGrace
    app_server_draining_terminating --> app_server_draining_killing: RETIRE · closeGrace
  }
  state "stopped" as app_server_stopped
  state "crashed" as app_server_crashed
  [*] --> app_server_starting
  app_server_starting --> app_server_crashed: EXITED
  app_server_starting --> app_server_draining: STOP · RETIRE, to killing · error · startBudget
  app_server_starting --> app_server_ready: done
  app_server_ready --> app_server_crashed: EXITED
  app_server_ready --> app_server_draining: STOP · RETIRE, to killing
  app_server_draining --> app_server_stopped: EXITED · killing, closeGrace
  app_server_stopped --> [*]
  app_server_crashed --> [*]
`);
  });

  it('draws what a state hears for the states inside it, and what leads out of them', async () => {
    const { stdout } = await call(['--format', 'mermaid', '--machine', 'attempt']);
    const arrows = stdout.split('\n').filter((line) => line.includes('-->') && line.includes('compacting'));
    expect(arrows.map((line) => line.trim().replaceAll('attempt_', ''))).toEqual([
      '[*] --> compacting_working',
      'compacting_working --> compacting_settled: done · error',
      'compacting_interrupting --> compacting_settled: done · error',
      'compacting_working --> compacting_interrupting: ABORT',
      'bootstrap --> compacting: leaving, then [onlyCompaction]',
      'turning --> compacting: done [overflowCanBeCompacted]',
      'compacting --> assembling: settled, then [roomWasMade]',
      'compacting --> mirroring: settled, then [turnStoppedByAbort] · settled, then [forTurn]',
      'compacting --> completed: settled, then [compactionSucceeded]',
      'compacting --> aborted: settled, then [abortAsked]',
      'compacting --> failed: settled, then',
    ]);
  });

  it('draws all machines, each with all its states', async () => {
    const { code, stdout } = await call(['--format', 'mermaid']);
    expect(code).toBe(0);
    const drawn = [...stdout.matchAll(/^ *state "[\w-]+" as (\w+)/gm)].map(([, id]) => id);
    const idsOf = (node: AnyStateNode): string[] => [node.id, ...Object.values(node.states).flatMap(idsOf)];
    const ids = suites.flatMap(({ machine }) => idsOf(machine.root)).map((id) => id.replaceAll(/\W/g, '_'));
    expect(drawn.sort()).toEqual(ids.sort());
  });
});

it('paths --format vitest has one test for each path, and a place for the machines', async () => {
  const some = suites.filter(({ name }) => ['compaction', 'app-server'].includes(name));
  const { code, stdout } = await call(['--format', 'vitest'], some);
  expect(code).toBe(0);
  const blocks = stdout.split(/^describe\(/m).slice(1);
  expect(blocks.map((text) => [text.slice(1, text.indexOf("'", 1)), text.match(/^ {2}it\(/gm)?.length])).toEqual([
    ['compaction', counts.compaction.paths],
    ['app-server', counts['app-server'].paths],
  ]);
  expect(stdout.match(/^(?:const|import) .*/gm)).toEqual([
    "import { appServerMachine, compactionMachine } from 'codex-attempt-machine/machines';",
    "import { createPathRunner } from 'codex-attempt-machine/testing';",
    "import { describe, it } from 'vitest';",
    'const compaction = compactionMachine;',
    'const appServer = appServerMachine;',
  ]);
});
