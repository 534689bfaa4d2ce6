import { defaultBudgets } from '../../../machines/attempt-types.ts';
import {
  type NativeStatus,
  type TurnContext,
  type TurnFault,
  turnMachine,
  turnOutput,
} from '../../../machines/turn.ts';
import { changes, done, type EventCase, failed, type MachineSuite, outside, plain } from '../paths/suite.ts';
import { turnWords } from './turn-words.ts';

const completed = (status: NativeStatus, fault?: TurnFault): EventCase =>
  outside(
    { type: 'COMPLETED', status, ...(fault === undefined ? {} : { fault }) } as EventCase['event'],
    `COMPLETED ${status}${fault === undefined ? '' : `: ${fault.code}`}`,
  );
const interrupt = (why: string): EventCase =>
  outside({ type: 'INTERRUPT', why } as EventCase['event'], `INTERRUPT ${why}`);

/** What the context as it stands would be reported as. */
function verdict(context: TurnContext): string {
  const { outcome, cause, overflow, replaySafe } = turnOutput(context);
  return [
    outcome,
    ...(cause === null ? [] : [cause.code]),
    ...(overflow ? ['overflow'] : []),
    ...(replaySafe ? [] : ['not replay-safe']),
  ].join(' ');
}

/** While it drains, only what the turn came to matters any more; without a status an exit still changes that. */
function facts(state: string, context: TurnContext): string[] {
  if (state === 'settled') return [];
  if (state === 'draining') return [verdict(context), ...(context.status === null ? ['no status'] : [])];
  return [...(context.why === null ? [] : [`why ${context.why}`]), ...(context.replaySafe ? [] : ['not replay-safe'])];
}

export const turnSuite: MachineSuite = {
  name: 'turn',
  machine: turnMachine,
  inputs: [{ group: '', label: 'any', input: { attemptId: 'a', budgets: defaultBudgets } }],
  outside: [
    completed('completed'),
    completed('interrupted'),
    completed('failed'),
    completed('failed', { code: 'context_window_exceeded', message: 'too long' }),
    completed('failed', { code: 'usage_limit_exceeded', message: 'no credit' }),
    outside({ type: 'EXITED' }),
    outside({ type: 'EFFECT' }),
    interrupt('abort'),
    interrupt('deadline'),
    interrupt('yield'),
  ],
  answers: {
    request: {
      done: [done('request')],
      error: [failed('request', 'overflow', 'context_window_exceeded'), failed('request', 'other', 'turn_refused')],
    },
    interrupt: plain('interrupt'),
    drain: plain('drain'),
  },
  delays: { requestBudget: 'request', drainBudget: 'drain' },
  facts: (state, context) => facts(state, context as TurnContext),
  effect: (before, after, snapshot) => [
    ...changes(before, after, ['why', 'status', 'replaySafe']),
    ...((before as TurnContext).fault === (after as TurnContext).fault
      ? []
      : [`fault=${(after as TurnContext).fault?.code}`]),
    ...(snapshot.status === 'done' ? [`output ${verdict(after as TurnContext)}`] : []),
  ],
  words: turnWords,
};
