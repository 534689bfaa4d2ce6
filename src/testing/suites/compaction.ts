import { defaultBudgets } from '../../../machines/attempt-types.ts';
import { type CompactionContext, compactionMachine, compactionOutput } from '../../../machines/compaction.ts';
import { changes, done, failed, type InputCase, type MachineSuite, outside, plain } from '../paths/suite.ts';
import { compactionWords } from './compaction-words.ts';

const input = (
  engine: 'none' | 'bare' | 'maintains',
  nativeWanted: boolean,
  label: string,
  says?: string,
): InputCase => ({
  group: '',
  label,
  input: {
    attemptId: 'a',
    ownsCompaction: engine !== 'none',
    maintains: engine === 'maintains',
    nativeWanted,
    budgets: defaultBudgets,
  },
  ...(says === undefined ? {} : { says }),
});

/** The engine's result is the result when it owns compaction; the native one's else. */
function facts(state: string, context: CompactionContext): string[] {
  if (state === 'settled') return [];
  const { ownsCompaction, engine, degraded } = context;
  return [
    ...(ownsCompaction && engine !== null ? [`engine ${engine}`] : []),
    ...(degraded.length === 0 ? [] : ['maintenance degraded']),
  ];
}

export const compactionSuite: MachineSuite = {
  name: 'compaction',
  machine: compactionMachine,
  inputs: [
    input('bare', true, 'owner, native wanted'),
    input('maintains', true, 'owner that maintains, native wanted', 'with maintenance'),
    input('bare', false, 'owner, engine alone', 'engine alone'),
    input('maintains', false, 'owner that maintains, engine alone', 'engine alone, with maintenance'),
    input('none', true, 'native alone', 'native alone'),
    input('none', false, 'nobody', 'nobody compacts'),
  ],
  outside: [outside({ type: 'INTERRUPT' })],
  answers: {
    compactEngine: {
      done: [
        done('compactEngine', 'compacted', { compacted: true }),
        done('compactEngine', 'unchanged', { compacted: false }),
      ],
      error: [failed('compactEngine')],
    },
    maintainEngine: plain('maintainEngine'),
    requestNative: plain('requestNative'),
    awaitNative: plain('awaitNative'),
    interruptNative: {
      done: [
        done('interruptNative', 'stopped', { compacted: false }),
        done('interruptNative', 'too late', { compacted: true }),
      ],
      error: [failed('interruptNative')],
    },
  },
  delays: {
    compactBudget: 'compact',
    maintainBudget: 'maintain',
    threadStartBudget: 'threadStart',
    graceInterrupt: 'graceInterrupt',
  },
  facts: (state, context) => facts(state, context as CompactionContext),
  effect: (before, after, snapshot) => {
    const [old, now] = [before as CompactionContext, after as CompactionContext];
    const output = compactionOutput(now);
    return [
      ...changes(old, now, ['engine', 'native']),
      ...(old.fault === now.fault ? [] : [`fault=${now.fault?.code}`]),
      ...now.degraded.slice(old.degraded.length).map(({ code }) => `degraded: ${code}`),
      ...(snapshot.status === 'done' ? [`output ${output.compaction}`] : []),
    ];
  },
  strange: ({ label }) => label === 'error interruptNative',
  words: compactionWords,
};
