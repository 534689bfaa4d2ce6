import type { Bench } from '../bench.ts';
import { comparable } from '../checks.ts';
import { canonical, difference } from '../data.ts';
import type { HostSession } from '../session.ts';
import { type Scenario, UNANSWERED } from './scenario.ts';
import { words } from './words.ts';

/** The same conversation each time; it takes the engine through every call that the host makes of it. */
async function converse(bench: Bench, session: HostSession): Promise<unknown> {
  await session.turn('completed');
  await session.turn('tools');
  if (bench.recorder.info.ownsCompaction === true) await session.compact();
  return (await session.look()).answer;
}

const restarting: Scenario = {
  name: 'a restart between any two calls',
  clauses: ['restart'],
  async run(bench) {
    const { recorder, verdicts } = bench;
    const [one, other] = [bench.session(), bench.session()];
    const before = recorder.calls.length;
    const [first, second] = [await converse(bench, one), await converse(bench, other)];
    if (first === null || second === null) return verdicts.notExercised('restart', UNANSWERED);
    const calls = recorder.calls.slice(before).filter((call) => call.params['sessionId'] === one.sessionId).length;
    const isRepeatable = difference(bare(one, first), bare(other, second)) === null;
    for (let restartBefore = 1; restartBefore < calls; restartBefore += 1) {
      const session = bench.session();
      recorder.restartIn = restartBefore;
      const answer = await converse(bench, session);
      recorder.restartIn = null;
      if (answer === null) continue;
      const changed = isRepeatable
        ? difference(bare(one, first), bare(session, answer))
        : difference(words(one, first), words(session, answer));
      verdicts.judge(
        'restart',
        changed === null
          ? null
          : bench.finding(
              session,
              'the same assembly as without a restart',
              `${changed.at} was ${changed.before} and is ${changed.after}`,
            ),
      );
    }
  },
};

/** An assembly without what is another session's by nature. */
function bare(session: HostSession, answer: unknown): unknown {
  const text = canonical(comparable(answer))
    .replaceAll(session.sessionFile, '(session file)')
    .replaceAll(session.sessionKey, '(session key)')
    .replaceAll(`[${session.label}.`, '[');
  return JSON.parse(
    text.replaceAll(/\b[0-9a-f]{8}(?=-0000-4000-[89]000-)/g, '(session)').replaceAll(/\bthread-\d+\b/g, '(thread)'),
  );
}

export const restartingScenarios: readonly Scenario[] = [restarting];
