import { describe, expect, it, vi } from 'vitest';
import { createMachine } from 'xstate';
import { attemptMachine, compactionMachine } from '../../machines/index.ts';
import { listPaths } from '../../src/testing/formats/listing.ts';
import { createPathRunner, type PlainPath, type PlainStep } from '../../src/testing/paths/run-path.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { suites } from '../../src/testing/suites/index.ts';

/** An attempt without an engine whose turn completes. */
const PLAIN = [
  ['done open: no file', 'bootstrap.draining', ''],
  ['done drainOutbox', 'bootstrap.reading', ''],
  ['done read', 'assembling', ''],
  ['done assemble', 'projecting', ''],
  ['done project: start', 'hook-build', ''],
  ['done buildPrompt', 'thread-start.connecting', ''],
  ['done connect', 'thread-start.starting', ''],
  ['done startThread', 'turning.running', ''],
  ['done turn: completed', 'mirroring.writing', 'outcome=completed'],
  ['done mirror', 'finalizing.working', ''],
  ['done finalize: ok', 'completed', 'finalization=ok, not maintained: no-engine'],
] as const satisfies readonly PlainStep[];

const plain = (over: Record<number, PlainStep> = {}): PlainPath => ({
  input: 'turn none',
  steps: PLAIN.map((step, at) => over[at] ?? step),
});

/** The compaction machine with one edge that leads elsewhere. */
const retargeted = createMachine(
  {
    ...compactionMachine.config,
    states: {
      ...compactionMachine.config.states,
      'native-requested': {
        ...compactionMachine.config.states?.['native-requested'],
        on: { INTERRUPT: 'settled' },
      },
    },
  } as never,
  compactionMachine.implementations as never,
);

const INTERRUPTED: PlainPath = {
  input: 'native alone',
  steps: [
    ['INTERRUPT', 'interrupting', ''],
    ['done interruptNative: stopped', 'settled', 'native=failed, output failed'],
  ],
};

describe('a path of plain data', () => {
  const run = createPathRunner({ machine: 'attempt' });

  it('that the machine goes resolves', async () => {
    await expect(run(plain())).resolves.toBeUndefined();
  });

  it('with another state is told with both states', async () => {
    await expect(run(plain({ 2: ['done read', 'projecting', ''] }))).rejects.toThrow(
      'attempt, turn none: step 3, done read in bootstrap.reading: expected projecting; found assembling',
    );
  });

  it('with another effect is told with both effects', async () => {
    await expect(run(plain({ 8: ['done turn: completed', 'mirroring.writing', 'outcome=failed'] }))).rejects.toThrow(
      'step 9, done turn: completed in turning.running: expected the effect (outcome=failed); found (outcome=completed)',
    );
    await expect(run(plain({ 8: ['done turn: completed', 'mirroring.writing', ''] }))).rejects.toThrow(
      'expected the effect (); found (outcome=completed)',
    );
  });

  it('without an effect does not compare it', async () => {
    await expect(run(plain({ 8: ['done turn: completed', 'mirroring.writing'] }))).resolves.toBeUndefined();
  });

  it('that stops before the end is told', async () => {
    await expect(run({ input: 'turn none', steps: PLAIN.slice(0, 3) })).rejects.toThrow(
      'attempt, turn none: the path ends in assembling, which is not final',
    );
  });

  it('in which something ends that does not run is told', async () => {
    await expect(run(plain({ 1: ['done mirror', 'bootstrap.reading', ''] }))).rejects.toThrow(
      'step 2, done mirror in bootstrap.draining: Error: 0 invocations of mirror are running',
    );
  });

  it('may have no steps', async () => {
    const compact = createPathRunner({ machine: 'compaction' });
    await expect(compact({ input: 'nobody', steps: [] })).resolves.toBeUndefined();
    await expect(compact({ input: 'native alone', steps: [] })).rejects.toThrow('which is not final');
  });

  it('runs beside others, and under fake timers', async () => {
    vi.useFakeTimers();
    try {
      const timed: PlainPath = {
        input: 'turn none',
        steps: [['after storeBudget', 'failed', 'outcome=failed, cause=budget_store']],
      };
      await expect(Promise.all([run(plain()), run(timed), run(plain())])).resolves.toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('what there is not', () => {
  const run = createPathRunner({ machine: 'attempt' });

  it.each([
    [
      'an event',
      plain({ 0: ['done open: nofile', 'bootstrap.draining', ''] }),
      'unknown event of attempt in step 1: `done open: nofile`; there is `done open: no file`, ',
    ],
    ['a timer', plain({ 0: ['after storeBudgets', 'failed', ''] }), 'there is `after storeBudget`, '],
    ['an input', { ...plain(), input: 'turn bar' }, 'unknown input of attempt: `turn bar`; there is `turn bare`, '],
  ])('%s: the error names what is near', async (_name, path, says) => {
    await expect(run(path)).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(says) });
  });

  it('a machine: the error names all', () => {
    expect(() => createPathRunner({ machine: 'atempt' })).toThrow(
      expect.objectContaining({
        code: 'usage',
        message: 'unknown machine: `atempt`; there is `attempt`, `turn`, `compaction`, `app-server`',
      }),
    );
  });
});

describe('a machine of the user', () => {
  it('whose edge leads elsewhere leaves the path there', async () => {
    await expect(createPathRunner({ machine: 'compaction' })(INTERRUPTED)).resolves.toBeUndefined();
    await expect(createPathRunner({ machine: 'compaction', chart: retargeted })(INTERRUPTED)).rejects.toThrow(
      'compaction, native alone: step 1, INTERRUPT in native-requested: expected interrupting; found settled',
    );
  });

  const eager = attemptMachine.provide({
    guards: { maintenanceDue: ({ context }) => context.outcome === 'completed' && context.engine?.maintain === true },
  });
  const maintained: PlainPath = {
    input: 'turn maintain',
    steps: [...PLAIN.slice(0, -1), ['error finalize', 'maintaining'], ['done maintain: foreground', 'completed']],
  };

  it('that goes the path and breaks an invariant is told with the number of the specification', async () => {
    await expect(createPathRunner({ machine: 'attempt', chart: eager })(maintained)).rejects.toThrow(
      'attempt, turn maintain: the path breaks what the specification says\n' +
        '2.11: turn maintenance runs exactly if completed, not aborted, not yielded, finalized, and the engine maintains',
    );
  });

  it('may be held to other invariants, or to none', async () => {
    const free = createPathRunner({ machine: 'attempt', chart: eager, invariants: [] });
    await expect(free(maintained)).resolves.toBeUndefined();
    const strict = createPathRunner({
      machine: 'attempt',
      invariants: [{ spec: 'own 1', says: 'nothing ends', holds: () => false }],
    });
    await expect(strict(plain())).rejects.toThrow('own 1: nothing ends');
  });

  it('may have event cases of its own', async () => {
    const suite = {
      ...compactionSuite,
      outside: [{ label: 'INTERRUPT by hand', event: { type: 'INTERRUPT' } }],
    };
    // The invariants know the event cases of the package.
    const own = createPathRunner({ machine: suite, invariants: [] });
    const [, ...rest] = INTERRUPTED.steps;
    await expect(
      own({ ...INTERRUPTED, steps: [['INTERRUPT by hand', 'interrupting', ''], ...rest] }),
    ).resolves.toBeUndefined();
    await expect(own(INTERRUPTED)).rejects.toThrow('unknown event of compaction in step 1: `INTERRUPT`');
  });
});

it('every listed path resolves as plain data', async () => {
  for (const suite of suites) {
    const run = createPathRunner({ machine: suite.name });
    for (const { input, path } of listPaths(suite, 'edges').paths) {
      await run({ input, steps: path.steps.map(({ label, next, effect }) => [label, next, effect ?? '']) });
    }
  }
});
