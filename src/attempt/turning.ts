import { fromCallback, fromPromise } from 'xstate';
import { type TurnActorInput, type TurnEvent, turnMachine } from '../../machines/turn.ts';
import { interruptTurn, startTurn } from '../codex/turns.ts';
import { AttemptError, isAttemptError } from '../errors.ts';
import { NativeTurn } from './native-turn.ts';
import { type AttemptRecord, bounded, recordOf } from './record.ts';
import { buildOf, clientOf } from './thread-start.ts';
import { writeIntent } from './turn-started.ts';

/** The turn machine with its work: what happens during `turning`. Provided once per process. */
export const nativeTurnMachine = turnMachine.provide({
  actors: {
    watch: fromCallback<TurnEvent, TurnActorInput>(({ input, sendBack }) => {
      const record = recordOf(input.attemptId);
      const turn = new NativeTurn(record, clientOf(record), threadIdOf(record), sendBack);
      record.slots.turn = turn;
      return () => turn.close();
    }),
    request: fromPromise<unknown, TurnActorInput>(({ input, signal }) =>
      requestTurn(recordOf(input.attemptId), signal),
    ),
    interrupt: fromPromise<unknown, TurnActorInput>(async ({ input, signal }) => {
      const record = recordOf(input.attemptId);
      await interruptTurn(clientOf(record), turnOf(record), { signal, timeoutMs: record.params.budgets.request });
    }),
    drain: fromPromise<unknown, TurnActorInput>(({ input }) => turnOf(recordOf(input.attemptId)).settled()),
  },
});

/** `turn/start`, after the intent is on disk: a crash from here on is recognised by the next attempt. */
async function requestTurn(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const turn = turnOf(record);
  await keepIntent(record, turn, signal);
  // Asked to stop meanwhile: a turn that has not begun needs no interrupt.
  if (record.machine().stop !== null) throw new AttemptError('aborted', 'the turn was stopped before it began');
  turn.requested();
  try {
    const turnId = await startTurn(
      clientOf(record),
      {
        threadId: turn.threadId,
        cwd: record.params.cwd,
        model: record.params.model,
        sandbox: record.params.sandbox,
        text: buildOf(record).promptText,
      },
      { signal, timeoutMs: record.params.budgets.request },
    );
    turn.bind(turnId);
  } catch (error) {
    // Only an answer says that no turn runs; a silent server may still run it, and then its process is retired.
    if (!(isAttemptError(error) && (error.code === 'request_timeout' || error.code === 'aborted'))) turn.refused();
    throw error;
  }
}

/** Without the intent only a crash of this process goes unnoticed: no reason to refuse the user's turn. */
async function keepIntent(record: AttemptRecord, turn: NativeTurn, signal: AbortSignal): Promise<void> {
  const { clock } = record.services;
  // A store that hangs leaves the other half of the budget to the app-server's answer.
  const ms = record.params.budgets.request / 2;
  const error = () => new AttemptError('session_write_failed', `the journal was not written within ${ms} ms`);
  try {
    await bounded(writeIntent(record, turn.threadId, null), { clock, ms, signal, error });
  } catch (caught) {
    if (signal.aborted) throw caught;
    turn.degrade('session_write_failed', caught);
  }
}

export function turnOf(record: AttemptRecord): NativeTurn {
  const { turn } = record.slots;
  if (turn === undefined) throw new AttemptError('internal', 'there is no native turn yet');
  return turn;
}

function threadIdOf(record: AttemptRecord): string {
  const { thread } = record.slots;
  if (thread === undefined) throw new AttemptError('internal', 'there is no native thread yet');
  return thread.threadId;
}
