import { type CompactionContext, compactionMachine, compactionOutput } from '../../../machines/compaction.ts';
import {
  changes,
  done,
  type EventCase,
  failed,
  type InputCase,
  type MachineSuite,
  outside,
  plain,
} from '../paths/suite.ts';
import { compactionWords } from './compaction-words.ts';

const input = (ownsCompaction: boolean, nativeWanted: boolean, label: string, says?: string): InputCase => ({
  group: '',
  label,
  input: { attemptId: 'a', ownsCompaction, nativeWanted },
  ...(says === undefined ? {} : { says }),
});
const interrupt = (why: string): EventCase =>
  outside({ type: 'INTERRUPT', why } as EventCase['event'], `INTERRUPT ${why}`);
const compacts = (actor: string) => ({
  done: [done(actor, 'compacted', { compacted: true }), done(actor, 'unchanged', { compacted: false })],
  error: [failed(actor)],
});

function facts(state: string, context: CompactionContext): string[] {
  if (state === 'settled') return [];
  return [
    ...(context.engine === null ? [] : [`engine ${context.engine}`]),
    ...(context.native === null ? [] : [`native ${context.native}`]),
  ];
}

export const compactionSuite: MachineSuite = {
  name: 'compaction',
  machine: compactionMachine,
  inputs: [
    input(true, true, 'owner, native wanted'),
    input(true, false, 'owner, engine alone', 'engine alone'),
    input(false, true, 'native alone', 'native alone'),
    input(false, false, 'nobody', 'nobody compacts'),
  ],
  outside: [interrupt('abort'), interrupt('deadline')],
  answers: {
    compactEngine: compacts('compactEngine'),
    compactNative: compacts('compactNative'),
    interruptNative: plain('interruptNative'),
  },
  delays: {},
  facts: (state, context) => facts(state, context as CompactionContext),
  effect: (before, after, snapshot) => {
    const [old, now] = [before as CompactionContext, after as CompactionContext];
    const output = compactionOutput(now);
    return [
      ...changes(old, now, ['why', 'engine', 'native']),
      ...(old.fault === now.fault ? [] : [`fault=${now.fault?.code}`]),
      ...(snapshot.status === 'done' ? [`output ${output.compaction}`] : []),
    ];
  },
  words: compactionWords,
};
