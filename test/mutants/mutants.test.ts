import { describe, expect, it } from 'vitest';
import { assign } from 'xstate';
import { inputsOf } from '../../src/testing/paths/edge-table.ts';
import { explore } from '../../src/testing/paths/generate.ts';
import { at } from '../../src/testing/paths/mutate.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { allMutants } from './all-mutants.ts';
import type { Edit } from './edit.ts';
import { equivalent } from './equivalent.ts';
import { frozenTable } from './frozen.ts';
import { knownMachines, mutantsBy } from './machine-mutants.ts';
import { type Judged, judged, type Mutant } from './mutant.ts';
import { reportOf, reportText } from './report.ts';

const mutants = await allMutants();
const named = (name: string): Mutant => {
  const mutant = mutants.find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`no mutant ${name}`);
  return mutant;
};

/** One of each kind, and what finds it. */
const sample: [kind: string, name: string, killedBy: string, invariants: string][] = [
  ['guard dropped', 'attempt: bootstrap.opening done open #1: guard journalOpen dropped', 'table', '2.1'],
  ['guard negated', 'compaction: deciding always #2: guard nativeWanted negated', 'table', 'K1'],
  [
    'guard replaced',
    'attempt: bootstrap.opening done open #1: guard engineBootstraps instead of journalOpen',
    'table',
    '2.1',
  ],
  ['edge retargeted', 'app-server: starting on EXITED: to stopped instead of crashed', 'table', 'E3'],
  ['order swapped', 'attempt: bootstrap.opening done open: #2 before #1', 'table', '2.1'],
  ['error edge dropped', 'app-server: starting error handshake: dropped', 'table', 'C1 E3 G3'],
  ['abort edge dropped', 'attempt: bootstrap on ABORT: dropped', 'table', 'E3 M4'],
  ['event edge dropped', 'app-server: starting on EXITED: dropped', 'table', ''],
  ['always dropped', 'attempt: bootstrap.leaving always #1: dropped', 'table', ''],
  ['timeout removed', 'app-server: starting after startBudget: dropped', 'table', ''],
  ['timeout changed', 'app-server: starting after startBudget: after closeGrace instead', 'table', 'E3'],
  ['delay replaced', 'app-server: delays: startBudget lasts as long as closeGrace', 'execution', ''],
  ['action dropped', 'attempt: turning.running on ABORT: action tellTurnToAbort dropped', 'invariants', 'M4'],
  ['action replaced', 'attempt: bootstrap on ABORT: action rememberTurn instead of endAborted', 'table', 'E3'],
  ['work swapped', 'app-server: starting and draining.closing: work of handshake and endInput swapped', 'table', 'E3'],
  ['work dropped', 'turn: (root): work of watch dropped', 'invariants', '2.8'],
  ['input changed', 'attempt: compacting: ownsCompaction of compaction changed', 'invariants', 'K1'],
  ['output dropped', 'attempt: output: degraded dropped', 'invariants', 'E3'],
  ['start value changed', 'turn: context: replaySafe is false at the start', 'table', 'K1'],
  ['initial state changed', 'app-server: (root): begins in ready', 'table', '2.7'],
  ['final state opened', 'app-server: stopped: no longer final', 'table', 'C1 E3 G3'],
  ['await dropped', 'actors: turning.ts: await keepIntent(record, turn, signal) dropped', 'invariants', 'design 2'],
];

describe('the mutants', () => {
  it('are more than 300, made of every machine, with names of their own', () => {
    expect(mutants.length).toBeGreaterThan(300);
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    expect([...new Set(mutants.map(({ group }) => group))]).toEqual([
      'attempt',
      'turn',
      'compaction',
      'app-server',
      'actors',
    ]);
  });

  it('are the same on every making', async () => {
    const names = (all: readonly Mutant[]) => all.map(({ name, group, kind }) => ({ name, group, kind }));
    expect(names(await allMutants())).toEqual(names(mutants));
  });

  it('are each of a kind that has a sample', () => {
    expect(new Set(sample.map(([kind]) => kind))).toEqual(new Set(mutants.map(({ kind }) => kind)));
  });

  it.each(sample)('%s: %s', async (kind, name, killedBy, invariants) => {
    const verdict = await judged(named(name));
    expect({ ...verdict, why: verdict.why !== '', invariants: verdict.invariants?.join(' ') }).toEqual({
      name,
      group: name.split(':')[0],
      kind,
      killedBy,
      why: true,
      invariants,
    });
  });

  it('that are listed as equivalent all exist', () => {
    const names = new Set(mutants.map(({ name }) => name));
    expect(Object.keys(equivalent).filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('the judge', () => {
  const compaction = knownMachines.find(({ suite }) => suite === compactionSuite);
  const verdictOn = async (apply: Edit['apply']) => {
    if (compaction === undefined) throw new Error('no compaction machine');
    const [mutant] = mutantsBy([{ kind: 'planted', place: 'here', change: 'planted', apply }], compaction);
    if (mutant === undefined) throw new Error('no mutant');
    return judged(mutant);
  };
  const mutant = { name: 'compaction: here: planted', group: 'compaction', kind: 'planted' };

  it.each(knownMachines)('finds no difference between the machine and its table: $suite.name', ({ suite, frozen }) => {
    const table = frozenTable(suite, frozen);
    expect(suite.inputs.map((input) => table.difference(explore(suite, input))).filter((line) => line)).toEqual([]);
  });

  it('finds what the table does not have, for the inputs that have it', () => {
    if (compaction === undefined) throw new Error('no compaction machine');
    const { suite, frozen } = compaction;
    const [gone, ...rows] = frozen;
    if (gone === undefined) throw new Error('no row');
    const { inputs, ...row } = gone;
    const table = frozenTable(suite, rows);
    const where = inputsOf(suite.inputs, inputs);
    expect(where.length).toBe(4);
    for (const input of suite.inputs) {
      const line = where.includes(input) ? `+ ${JSON.stringify(row)}` : null;
      expect(table.difference(explore(suite, input))).toBe(line);
    }
  });

  it('lets a machine live that is only written in other words', async () => {
    const verdict = await verdictOn(({ config }) => {
      at(config, 'states', 'native-requested', 'invoke', '0')['onDone'] = '#compaction.native-running';
    });
    expect(verdict).toEqual({ ...mutant, killedBy: null, why: '', invariants: [] });
    expect(reportOf([verdict], [verdict], {}).survivors).toEqual([mutant.name]);
  });

  it('refuses a name that does not exist', async () => {
    const verdict = await verdictOn(({ config }) => {
      at(config, 'states', 'deciding', 'always', '0')['guard'] = 'ownsIt';
    });
    expect(verdict).toEqual({
      ...mutant,
      killedBy: 'check',
      why: 'deciding always: unknown guard ownsIt',
      invariants: null,
    });
  });

  it('comes back from a machine that moves on for ever', async () => {
    const verdict = await verdictOn(({ config }) => {
      at(config, 'states', 'interrupting')['always'] = [{ target: 'native-running' }];
      at(config, 'states', 'native-running')['always'] = [{ target: 'interrupting' }];
    });
    expect({ ...verdict, why: /^Infinite loop/.test(verdict.why) }).toEqual({
      ...mutant,
      killedBy: 'exploration',
      why: true,
      invariants: null,
    });
  });

  it('comes back from a machine that finds new states for ever', async () => {
    const verdict = await verdictOn(({ config, implementations }) => {
      implementations.actions['more'] = assign({
        engine: ({ context }: { context: { engine: string | null } }) => `${context.engine ?? ''}+`,
      });
      const state = at(config, 'states', 'native-running');
      state['on'] = { INTERRUPT: [{ actions: ['more'] }] };
    });
    expect(verdict).toEqual({
      ...mutant,
      killedBy: 'exploration',
      why: 'Traversal limit exceeded',
      invariants: null,
    });
  });
});

describe('the report', () => {
  const one = (name: string, killedBy: Judged['killedBy'], invariants: string[] = []): Judged => ({
    name: `toy: ${name}`,
    group: 'toy',
    kind: name.startsWith('guard') ? 'guard dropped' : 'action dropped',
    killedBy,
    why: killedBy === null ? '' : 'it differs',
    invariants,
  });
  const all = [
    one('guard a', 'table', ['M4']),
    one('guard b', null),
    one('action a', 'check'),
    one('action b', null),
    one('action c', 'execution'),
  ];

  it('counts, and names survivors that are not listed', () => {
    const report = reportOf(all, all, { 'toy: guard b': 'is the same' });
    expect(reportText(report)).toBe(
      [
        'what  kind            made  check  exploration  table  execution  invariants  equivalent  survived  invariants alone',
        '--------------------------------------------------------------------------------------------------------------------',
        'toy   guard dropped      2      0            0      1          0           0           1         0                 1',
        'toy   action dropped     3      1            0      0          1           0           0         1                 0',
        'toy   all                5      1            0      1          1           0           1         1                 1',
        '--------------------------------------------------------------------------------------------------------------------',
        'all   all                5      1            0      1          1           0           1         1                 1',
        'survived: toy: action b',
        '',
      ].join('\n'),
    );
    expect(report.stale).toEqual([]);
  });

  it('says where the list of equivalent mutants is stale', () => {
    const list = { 'toy: guard b': '', 'toy: guard a': '', 'toy: gone': '', 'toy: action b': '' };
    const { survivors, stale } = reportOf(all, all, list);
    expect({ survivors, stale }).toEqual({
      survivors: [],
      stale: [
        'listed as equivalent, but there is no such mutant: toy: gone',
        'listed as equivalent, but found (table, it differs): toy: guard a',
      ],
    });
  });
});
