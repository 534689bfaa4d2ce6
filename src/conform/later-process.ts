import type { Bench } from './bench.ts';
import { comparable, epochOf } from './checks.ts';
import { canonical, difference, excerpt } from './data.ts';
import type { KeptSession } from './news.ts';
import { repeatFault } from './scenarios/finalizing.ts';
import { words } from './scenarios/words.ts';

/** A clock in an assembly may tell nothing smaller than seconds; a bit over one, in milliseconds. */
const TICK_MS = 1_050;

function later(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
}

/**
 * Goes on with a session that another process has left: the engine must show the same of it, and know the last commit.
 * What is missing or doubled counts as a restart that was not survived; other words for the same, as not deterministic.
 */
export async function lookAgain(bench: Bench, kept: KeptSession): Promise<void> {
  const { verdicts } = bench;
  const session = bench.session({ number: kept.number, onDisk: true });
  session.skip(0, kept.sessionId);
  session.steps.push(...kept.steps, 'a new process');
  await later(kept.at + TICK_MS);
  const { answer } = await session.look();
  if (answer === null) return verdicts.notExercised('restart', 'the engine answers nothing in a new process');
  const told = (what: { at: string; before: string; after: string }): string =>
    `${what.at} was ${what.before} and is ${what.after}`;
  const lost = difference(kept.words, words(session, answer));
  const expected = 'a new process shows the same of the session';
  verdicts.judge(
    'restart',
    lost === null ? null : bench.finding(session, `${expected} (marked texts, with how often)`, told(lost)),
  );
  if (lost === null && kept.stable) {
    const changed = difference(kept.shown, JSON.parse(canonical(comparable(answer))));
    verdicts.judge('determinism', changed === null ? null : bench.finding(session, expected, told(changed)));
  }
  const epoch = epochOf(answer);
  if (epoch !== null && kept.epoch !== null && lost === null) {
    const found = `${excerpt(kept.epoch)}, then ${excerpt(epoch)}`;
    verdicts.judge(
      'epoch',
      epoch === kept.epoch ? null : bench.finding(session, 'a new process has the same epoch', found),
    );
  }
  if (kept.commit === null) return;
  const { runtimeContext, runtimeSettings, sessionTarget } = session.lastCall('assemble')?.params ?? {};
  const params = { ...kept.commit.payload, runtimeContext, runtimeSettings, sessionTarget };
  const again = await bench.tolerating(() => session.call('commitTurn', params));
  verdicts.judge('commit-idempotent', await repeatFault(bench, session, kept.commit.turn, { before: answer, again }));
}
