import { isRecord } from '../data.ts';
import { occurrences, textsOf } from '../marks.ts';
import type { RecordedCall } from '../recorder.ts';
import type { AttemptRun, HostSession } from '../session.ts';
import { judgeTurn, type Scenario, turnFault, UNANSWERED } from './scenario.ts';

const NOT_DURABLE = 'the engine does not declare the durable contract (transcriptSemantics and commitTurn)';

const oneFinalizer: Scenario = {
  name: 'a turn and its one finalizer',
  clauses: ['one-finalizer'],
  async run(bench) {
    for (const kinds of [['completed'], ['tools'], ['completed', 'completed']] as const) {
      const session = bench.session();
      let last: AttemptRun | null = null;
      for (const kind of kinds) last = await session.turn(kind);
      if (last?.result.finalization.ok !== true) {
        bench.verdicts.notExercised('one-finalizer', UNANSWERED);
        continue;
      }
      const fault = await turnFault(bench, session, last.turn, `${bench.finalizer}() alone`);
      judgeTurn(bench, 'one-finalizer', fault);
    }
  },
};

const heartbeat: Scenario = {
  name: 'a heartbeat',
  clauses: ['heartbeat'],
  async run(bench) {
    for (const isFirst of [true, false]) {
      const session = bench.session();
      if (!isFirst) await session.turn();
      // An engine that stores prompts when it assembles was told of no heartbeat; that is another fault.
      const ghost = await session.turn('completed', { abortBefore: 'turning' });
      // The host's own history shows the heartbeat; what the engine has stored shows without it.
      const rows = await session.rows();
      const storesPrompts = session.shown((await session.ask())?.answer, ghost.turn, 'user').anywhere > 0;
      const beat = await session.turn('completed', { isHeartbeat: true });
      const asked = await session.ask({}, rows);
      if (asked?.end !== 'answered' || !beat.result.finalization.ok) {
        bench.verdicts.notExercised('heartbeat', UNANSWERED);
        continue;
      }
      const shown = (storesPrompts ? (['answer'] as const) : (['user', 'answer'] as const)).find(
        (speaker) => session.shown(asked.answer, beat.turn, speaker).anywhere > 0,
      );
      bench.verdicts.judge(
        'heartbeat',
        shown === undefined
          ? null
          : bench.finding(
              session,
              'a turn with isHeartbeat: true does not come up when the history is without it',
              `the ${shown === 'user' ? 'prompt' : 'answer'} of the heartbeat is in the assembly`,
            ),
      );
    }
  },
};

const committedAgain: Scenario = {
  name: 'a commit that comes again',
  clauses: ['commit-idempotent'],
  async run(bench) {
    if (!bench.durable) return bench.verdicts.notExercised('commit-idempotent', NOT_DURABLE);
    for (const isReloaded of [false, true]) {
      const session = bench.session();
      const { turn } = await session.turn();
      const first = session.lastCall('commitTurn');
      if (first?.end !== 'answered') return bench.verdicts.notExercised('commit-idempotent', UNANSWERED);
      if (isReloaded) await bench.recorder.restart();
      const before = await session.ask();
      const again = await bench.tolerating(() => session.call('commitTurn', first.params));
      bench.verdicts.judge(
        'commit-idempotent',
        await repeatFault(bench, session, turn, { before: before?.answer, again }),
      );
    }
  },
};

/** What is wrong after a commit that had been made before. `before`: what was shown without it. */
export async function repeatFault(
  bench: Parameters<Scenario['run']>[0],
  session: HostSession,
  turn: number,
  { before, again }: { before: unknown; again: RecordedCall | null },
) {
  const expected = 'the same commit again is answered "duplicate", or changes nothing';
  if (again?.end === 'threw') return bench.finding(session, expected, `it threw: ${again.error ?? ''}`);
  const asked = await session.ask();
  for (const speaker of ['user', 'answer'] as const) {
    const { messages } = session.shown(asked?.answer, turn, speaker);
    const whose = speaker === 'user' ? 'prompt' : 'answer';
    if (messages > Math.max(1, session.shown(before, turn, speaker).messages))
      return bench.finding(session, expected, `the ${whose} of the turn is then there ${messages} times`);
  }
  return null;
}

const refusedCommit: Scenario = {
  name: 'a commit that cannot be right',
  clauses: ['commit-atomic'],
  async run(bench) {
    if (!bench.durable) return bench.verdicts.notExercised('commit-atomic', NOT_DURABLE);
    for (const make of [sameKey, wrongSpan]) {
      const session = bench.session();
      const { turn } = await session.turn();
      const first = session.lastCall('commitTurn');
      if (first?.end !== 'answered') return bench.verdicts.notExercised('commit-atomic', UNANSWERED);
      const { params, word, what, mustBeRefused } = make(session, turn, first.params);
      session.steps.push(what);
      const call = await bench.tolerating(() => session.call('commitTurn', params));
      const isTaken = call?.end === 'answered' && isRecord(call.answer) && call.answer['status'] === 'committed';
      // An engine that takes what it need not refuse has stored it, and rightly.
      if (isTaken && !mustBeRefused) continue;
      const asked = await session.ask();
      if (asked?.end !== 'answered') return bench.verdicts.notExercised('commit-atomic', UNANSWERED);
      const expected = 'a commit that is refused leaves nothing behind, and a used key takes no other turn';
      const isLeft = occurrences(textsOf(asked.answer), word) > 0;
      const isLost = session.shown(asked.answer, turn, 'answer').anywhere === 0;
      bench.verdicts.judge(
        'commit-atomic',
        isLeft
          ? bench.finding(session, expected, 'the assembly then holds text of it')
          : isLost
            ? bench.finding(session, expected, 'the turn that was committed before is gone')
            : null,
      );
    }
  },
};

interface BadCommit {
  params: Readonly<Record<string, unknown>>;
  /** Stands in what must not be stored. */
  word: string;
  what: string;
  mustBeRefused: boolean;
}

/** The key of a committed turn, with other words. */
function sameKey(session: HostSession, turn: number, params: Readonly<Record<string, unknown>>): BadCommit {
  const word = session.mark(turn, 'tool');
  const messages = JSON.parse(
    JSON.stringify(params['messages']).replaceAll(session.mark(turn, 'answer'), word),
  ) as unknown[];
  return {
    params: { ...params, messages },
    word,
    what: 'commitTurn with a used key and another answer',
    mustBeRefused: true,
  };
}

/** Anchors that span more rows than there are. */
function wrongSpan(session: HostSession, turn: number, params: Readonly<Record<string, unknown>>): BadCommit {
  const word = session.mark(turn, 'partial');
  const span = Array.isArray(params['messages']) ? params['messages'].length : 0;
  const moved = (anchor: unknown, by: number, entryId: string): unknown => {
    const { activeMessagePosition, rawSeq, ...rest } = isRecord(anchor) ? anchor : {};
    return { ...rest, entryId, activeMessagePosition: Number(activeMessagePosition) + by, rawSeq: Number(rawSeq) + by };
  };
  return {
    params: {
      ...params,
      advancementKey: `${String(params['advancementKey'])}:other`,
      admission: moved(params['admission'], span, 'no-such-entry-1'),
      terminal: moved(params['terminal'], span + 3, 'no-such-entry-2'),
      messages: [{ role: 'user', content: `${word} This turn has lost its rows.`, timestamp: 1 }],
    },
    word,
    what: 'commitTurn with fewer rows than its anchors span',
    mustBeRefused: false,
  };
}

export const finalizingScenarios: readonly Scenario[] = [oneFinalizer, heartbeat, committedAgain, refusedCommit];
