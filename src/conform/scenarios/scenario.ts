import type { Bench } from '../bench.ts';
import type { ClauseId } from '../clauses.ts';
import type { Speaker } from '../marks.ts';
import type { HostSession } from '../session.ts';
import type { Finding } from '../verdicts.ts';

/** A conversation, or a few, that show whether some clauses hold. */
export interface Scenario {
  name: string;
  /** The clauses that it looks at, beside those of every call. */
  clauses: readonly ClauseId[];
  run(bench: Bench): Promise<void>;
}

/**
 * What is wrong with how the engine shows a turn that it was told of: it must be there, and once. Null: nothing;
 * undefined: it does not answer. An engine that learns of the turn by its next bootstrap knows it too.
 */
export async function turnFault(
  bench: Bench,
  session: HostSession,
  turn: number,
  told: string,
  speakers: readonly Speaker[] = ['user', 'answer'],
): Promise<Finding | null | undefined> {
  const asked = await session.ask();
  if (asked?.end !== 'answered') return undefined;
  const isShown = speakers.every((speaker) => session.shown(asked.answer, turn, speaker).anywhere > 0);
  const answer = isShown ? asked.answer : (await session.look()).answer;
  if (answer === null) return undefined;
  const expected = `after ${told} a later assemble() shows the turn, once`;
  for (const speaker of speakers) {
    const whose = speaker === 'user' ? 'prompt' : 'answer';
    const { messages, anywhere } = session.shown(answer, turn, speaker);
    if (anywhere === 0) return bench.finding(session, expected, `the ${whose} of the turn is not in it`);
    if (messages > 1) return bench.finding(session, expected, `the ${whose} of the turn is in it ${messages} times`);
  }
  return null;
}

/** Why a scenario could not say anything: the calls that it needs are not answered. */
export const UNANSWERED = 'calls that are needed for it are not answered';

/** Judges by how a turn is shown; an engine that does not even know a plain turn was told so already. */
export function judgeTurn(bench: Bench, clause: ClauseId, fault: Finding | null | undefined): void {
  const { verdicts } = bench;
  if (fault === undefined) verdicts.notExercised(clause, UNANSWERED);
  else if (fault !== null && clause !== PLAIN && verdicts.isBroken(PLAIN))
    verdicts.notExercised(clause, `${PLAIN} is broken`);
  else verdicts.judge(clause, fault);
}

const PLAIN: ClauseId = 'one-finalizer';
