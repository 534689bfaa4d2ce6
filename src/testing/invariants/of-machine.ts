import { attemptInvariants } from './attempt.ts';
import { appServerInvariants, compactionInvariants, turnInvariants } from './children.ts';
import { commonInvariants, type Invariant } from './invariant.ts';

const OWN: Readonly<Record<string, readonly Invariant[]>> = {
  attempt: attemptInvariants,
  turn: turnInvariants,
  compaction: compactionInvariants,
  'app-server': appServerInvariants,
};

/** All that must hold on the paths of the machine of this name; of an unknown one, what holds for every machine. */
export const invariantsOf = (name: string): readonly Invariant[] => [
  ...commonInvariants,
  ...(Object.hasOwn(OWN, name) ? (OWN[name] ?? []) : []),
];
