import type { Bench } from '../bench.ts';
import { comparable, epochOf } from '../checks.ts';
import { canonical, difference } from '../data.ts';
import type { KeptSession } from '../news.ts';
import { words } from './words.ts';

/** What of a commit is frozen; the rest is made anew for each try. */
const FROZEN = [
  'advancementKey',
  'admission',
  'terminal',
  'messages',
  'sessionId',
  'sessionKey',
  'isHeartbeat',
] as const;

/** Work that an engine goes on with in the background may change what it shows; so many looks are waited for it. */
const LOOKS = 4;

/** A conversation on disk, for another process to go on with. Null: the engine does not show it. */
export async function keepSession(bench: Bench): Promise<KeptSession | null> {
  const session = bench.session({ onDisk: true });
  await session.turn('completed');
  await session.turn('tools');
  if (bench.recorder.info.ownsCompaction === true) await session.compact();
  await session.turn('failed');
  const { turn } = await session.turn('completed');
  let { answer } = await session.look();
  let stable = false;
  for (let looks = 1; looks < LOOKS && !stable; looks += 1) {
    const next = await session.look();
    stable = difference(comparable(answer), comparable(next.answer)) === null;
    answer = next.answer;
  }
  if (answer === null) return null;
  const committed = bench.durable ? session.lastCall('commitTurn') : null;
  const payload = Object.fromEntries(FROZEN.map((name) => [name, committed?.params[name]]));
  return {
    number: session.number,
    sessionId: session.sessionId,
    steps: [...session.steps],
    at: Date.now(),
    shown: JSON.parse(canonical(comparable(answer))) as unknown,
    epoch: epochOf(answer),
    words: words(session, answer),
    stable,
    commit:
      committed === null ? null : { turn, payload: JSON.parse(JSON.stringify(payload)) as Record<string, unknown> },
  };
}
