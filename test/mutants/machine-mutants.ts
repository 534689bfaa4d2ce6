import type { EdgeRow } from '../../src/testing/paths/edge-table.ts';
import { editedConfig } from '../../src/testing/paths/mutate.ts';
import type { MachineSuite } from '../../src/testing/paths/suite.ts';
import { appServerSuite } from '../../src/testing/suites/app-server.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import { turnSuite } from '../../src/testing/suites/turn.ts';
import appServerFrozen from '../paths/app-server.edges.json' with { type: 'json' };
import attemptFrozen from '../paths/attempt.edges.json' with { type: 'json' };
import compactionFrozen from '../paths/compaction.edges.json' with { type: 'json' };
import turnFrozen from '../paths/turn.edges.json' with { type: 'json' };
import { normalised } from './config.ts';
import { type Edit, type Parts, subjectOf } from './edit.ts';
import { machineJudge } from './judge-machine.ts';
import type { Mutant } from './mutant.ts';
import { stateEdits } from './state-edits.ts';
import { transitionEdits } from './transition-edits.ts';
import { workEdits } from './work-edits.ts';

/** One production machine and its frozen edges. */
export interface KnownMachine {
  suite: MachineSuite;
  frozen: readonly EdgeRow[];
}

export const knownMachines: readonly KnownMachine[] = [
  { suite: attemptSuite, frozen: attemptFrozen },
  { suite: turnSuite, frozen: turnFrozen },
  { suite: compactionSuite, frozen: compactionFrozen },
  { suite: appServerSuite, frozen: appServerFrozen },
];

/** Copies of what a machine is made of, for one edit. */
export function partsFor({ machine }: MachineSuite): Parts {
  const { actors, actions, guards, delays } = machine.implementations;
  return {
    config: normalised(editedConfig(machine.config, () => undefined)),
    implementations: { actors: { ...actors }, actions: { ...actions }, guards: { ...guards }, delays: { ...delays } },
  };
}

/** All edits of one machine. */
export function editsOf(suite: MachineSuite): Edit[] {
  const subject = subjectOf(suite, partsFor(suite).config);
  return [...transitionEdits(subject), ...workEdits(subject), ...stateEdits(subject)];
}

/** The mutants of one machine that these edits make. */
export function mutantsBy(edits: readonly Edit[], { suite, frozen }: KnownMachine): Mutant[] {
  const judge = machineJudge(suite, frozen);
  return edits.map(({ kind, place, change, apply }) => ({
    name: `${suite.name}: ${place}: ${change}`,
    group: suite.name,
    kind,
    judge() {
      const parts = partsFor(suite);
      apply(parts);
      return judge(parts);
    },
  }));
}

/** Every mutant of the configurations of the four production machines. */
export const machineMutants = (): Mutant[] =>
  knownMachines.flatMap((machine) => mutantsBy(editsOf(machine.suite), machine));
