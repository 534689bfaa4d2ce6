import { attemptMachine } from '../../../machines/attempt.ts';
import {
  type AttemptContext,
  type AttemptInput,
  defaultBudgets,
  type EngineFacts,
} from '../../../machines/attempt-types.ts';
import type { TurnFault, TurnOutput } from '../../../machines/turn.ts';
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
import { attemptWords } from './attempt-words.ts';

const flags = [false, true];
const engines: readonly (EngineFacts | null)[] = [
  null,
  ...flags.flatMap((bootstrap) =>
    flags.flatMap((maintain) => flags.map((ownsCompaction) => ({ bootstrap, maintain, ownsCompaction }))),
  ),
];

function engineLabel(engine: EngineFacts | null): string {
  if (engine === null) return 'none';
  const parts = [
    ...(engine.bootstrap ? ['bootstrap'] : []),
    ...(engine.maintain ? ['maintain'] : []),
    ...(engine.ownsCompaction ? ['compact'] : []),
  ];
  return parts.length === 0 ? 'bare' : parts.join('+');
}

const inputs: readonly InputCase[] = (['turn', 'compact'] as const).flatMap((request) =>
  engines.map((engine) => {
    const input: AttemptInput = { attemptId: 'a', request, engine, budgets: defaultBudgets };
    const label = engineLabel(engine);
    const says = request === 'compact' ? { says: 'only compaction' } : {};
    return { group: request, label, input, ...says, aside: engine === null ? 'no engine' : `engine: ${label}` };
  }),
);

const opened: readonly EventCase[] = flags.flatMap((hadSessionFile) =>
  flags.flatMap((bound) =>
    flags.map((journalOpen) => {
      const words = [
        hadSessionFile ? 'file' : 'no file',
        ...(bound ? ['bound'] : []),
        ...(journalOpen ? ['journal'] : []),
      ];
      return done('open', words.join(', '), { hadSessionFile, bound, journalOpen });
    }),
  ),
);

function turnDone(label: string, outcome: TurnOutput['outcome'], code: string | null, over: Partial<TurnOutput> = {}) {
  const cause: TurnFault | null = code === null ? null : { code, message: label };
  const output: TurnOutput = { outcome, cause, overflow: false, replaySafe: true, ...over };
  return done('turn', label, output);
}

/** Which facts a guard can still read from here; the states in which each one is dead are left out. */
function facts(state: string, context: AttemptContext, input: AttemptInput): string[] {
  const found: string[] = [];
  const add = (when: boolean, fact: string) => {
    if (when) found.push(fact);
  };
  const top = state.split('.')[0] ?? state;
  const isFinal = ['completed', 'yielded', 'aborted', 'failed'].includes(state);
  if (isFinal) return found;
  const beforeRead = ['bootstrap.recovering', 'bootstrap.draining', 'bootstrap.reading'].includes(state);
  const beforeTurn = ['bootstrap', 'assembling', 'projecting', 'hook-build', 'thread-start'].includes(top);
  const beforeConnect = beforeTurn && !['thread-start.resuming', 'thread-start.starting'].includes(state);
  const forTurn = context.request === 'turn';
  add(input.engine !== null && context.engine === null && top !== 'maintaining', 'engine suspended');
  add(beforeRead && context.hadSessionFile, 'file');
  add(forTurn && beforeConnect && context.thread === 'resume', 'resume');
  // Once a turn overflowed, only fresh threads are started anyway.
  add(
    beforeTurn && context.overflowTries === 0 && context.freshThreadTries > 0,
    `fresh thread ${Math.min(context.freshThreadTries, 2)}`,
  );
  add((beforeTurn || top === 'turning') && context.overflowTries > 0, `retry ${Math.min(context.overflowTries, 2)}`);
  add(['mirroring', 'finalizing'].includes(top), `outcome ${context.outcome}`);
  add(['turning', 'compacting'].includes(top) && context.stop !== null, `stop ${context.stop}`);
  add(['mirroring', 'finalizing'].includes(top) && context.stop === 'abort', 'stop abort');
  // The first reason to stop is remembered as the cause; after an overflow the cause is always the overflow.
  const causeMatters = state === 'turning.interrupting' || (state === 'compacting.interrupting' && !forTurn);
  add(causeMatters && context.cause !== null, `cause ${context.cause?.code}`);
  return found;
}

function effect(before: AttemptContext, after: AttemptContext): string[] {
  const found = changes(before, after, [
    'hadSessionFile',
    // After an overflow it no longer matters which thread the first turn ran on.
    ...(before.overflowTries === 0 ? (['thread'] as const) : []),
    'freshThreadTries',
    'overflowTries',
    'outcome',
    'stop',
    'compaction',
    'finalization',
  ]);
  if (before.engine !== null && after.engine === null) found.push('engine=null');
  if (before.cause?.code !== after.cause?.code) found.push(`cause=${after.cause?.code ?? null}`);
  if (before.maintenance !== after.maintenance && after.maintenance !== null) {
    const { ran, mode, reason } = after.maintenance;
    found.push(ran ? `maintained ${mode}` : `not maintained: ${reason}`);
  }
  for (const { state, code } of after.degraded.slice(before.degraded.length)) found.push(`degraded ${state}: ${code}`);
  return found;
}

/** What the work of the states does not come to, although the machine must stand it. */
function strange(edge: { label: string; state: string; facts: string }, input: AttemptInput): boolean {
  const { label } = edge;
  const facts = edge.facts.split(', ');
  const engine = input.engine !== null && !facts.includes('engine suspended');
  const owns = engine && input.engine?.ownsCompaction === true;
  const stopping = edge.state === 'compacting.interrupting';
  switch (label) {
    case 'error turn':
    case 'error compaction':
    case 'error finalize':
    case 'error project':
      // Child machines are total; finalizing and projecting answer with what went wrong.
      return true;
    case 'done open: no file, bound':
    case 'done open: no file, bound, journal':
      // A binding lies beside its session file.
      return true;
    case 'done open: no file':
    case 'done open: file':
    case 'done open: no file, journal':
    case 'done open: file, journal':
      // Who compacts has a thread to compact.
      return input.request === 'compact';
    case 'done project: resume':
      return !facts.includes('resume');
    case 'done turn: aborted':
      return !facts.includes('stop abort');
    case 'done turn: deadline':
      return !facts.includes('stop deadline');
    case 'error drainOutbox':
    case 'done finalize: not ok':
    case 'error assemble: engine':
      return !engine;
    case 'done compaction: engine':
      // What is stopped after an overflow is the engine's compaction, or the maintenance after it.
      return !owns || (stopping && input.request === 'turn' && input.engine?.maintain !== true);
    case 'done compaction: nothing':
      return !owns || (stopping && input.request === 'turn');
    case 'done compaction: native':
      return input.request === 'turn' || owns;
    case 'ABORT':
      // After an overflow only the engine compacts, and that ends as soon as it is told to.
      return stopping && input.request === 'turn';
    default:
      return false;
  }
}

export const attemptSuite: MachineSuite = {
  name: 'attempt',
  machine: attemptMachine,
  inputs,
  outside: [outside({ type: 'ABORT' })],
  answers: {
    open: { done: opened, error: [failed('open')] },
    recover: plain('recover'),
    drainOutbox: plain('drainOutbox'),
    read: plain('read'),
    bootstrapEngine: plain('bootstrapEngine'),
    bootstrapMaintenance: plain('bootstrapMaintenance'),
    reread: plain('reread'),
    assemble: {
      done: [done('assemble')],
      error: [failed('assemble', 'tools', 'tools_failed'), failed('assemble', 'engine')],
    },
    project: {
      // A session that has no thread starts one: first, so that the shortest paths are those that can be.
      done: [done('project', 'start', { thread: 'start' }), done('project', 'resume', { thread: 'resume' })],
      error: [failed('project')],
    },
    buildPrompt: plain('buildPrompt'),
    connect: plain('connect'),
    resumeThread: {
      done: [done('resumeThread')],
      error: [failed('resumeThread', 'stale', 'thread_stale'), failed('resumeThread', 'other')],
    },
    startThread: plain('startThread'),
    turn: {
      done: [
        turnDone('completed', 'completed', null),
        turnDone('yielded', 'yielded', null),
        turnDone('aborted', 'aborted', null),
        turnDone('failed', 'failed', 'turn_failed'),
        turnDone('deadline', 'failed', 'budget_execution'),
        turnDone('overflow', 'failed', 'context_window_exceeded', { overflow: true }),
        turnDone('overflow after effects', 'failed', 'context_window_exceeded', { overflow: true, replaySafe: false }),
      ],
      error: [failed('turn')],
    },
    mirror: plain('mirror'),
    finalize: {
      done: [done('finalize', 'ok', { ok: true }), done('finalize', 'not ok', { ok: false, code: 'commit_refused' })],
      error: [failed('finalize')],
    },
    maintain: {
      done: [
        done('maintain', 'foreground', { mode: 'foreground' }),
        done('maintain', 'background', { mode: 'background' }),
      ],
      error: [failed('maintain')],
    },
    compaction: {
      done: [
        done('compaction', 'engine', { compaction: 'engine', cause: null, degraded: [] }),
        done('compaction', 'native', { compaction: 'native', cause: null, degraded: [] }),
        done('compaction', 'nothing', { compaction: 'nothing', cause: null, degraded: [] }),
        done('compaction', 'failed', {
          compaction: 'failed',
          cause: { code: 'compaction_failed', message: 'the engine did not compact' },
          degraded: [],
        }),
      ],
      error: [failed('compaction')],
    },
  },
  delays: {
    storeBudget: 'store',
    bootstrapBudget: 'bootstrap',
    assembleBudget: 'assemble',
    hooksBudget: 'hooks',
    threadStartBudget: 'threadStart',
    executionBudget: 'execution',
    mirrorBudget: 'mirror',
    finalizeBudget: 'finalize',
    maintainBudget: 'maintain',
    graceInterrupt: 'graceInterrupt',
    graceMirror: 'graceMirror',
    graceFinalize: 'graceFinalize',
  },
  facts: (state, context, input) => facts(state, context as AttemptContext, input as AttemptInput),
  effect: (before, after) => effect(before as AttemptContext, after as AttemptContext),
  strange: (edge, input) => strange(edge, input as AttemptInput),
  words: attemptWords,
};
