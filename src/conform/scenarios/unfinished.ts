import type { EngineMethod } from '../../engine/call-engine.ts';
import type { Bench } from '../bench.ts';
import type { TurnKind } from '../native-turns.ts';
import type { AttemptRun, HostSession, TurnOptions } from '../session.ts';
import type { Finding } from '../verdicts.ts';
import { judgeTurn, type Scenario, turnFault, UNANSWERED } from './scenario.ts';

const KINDS: readonly { kind: TurnKind; options: TurnOptions }[] = [
  { kind: 'failed', options: {} },
  { kind: 'aborted', options: {} },
  { kind: 'yielded', options: {} },
  { kind: 'completed', options: { abortBefore: 'turning' } },
];

/** In which calls an abort is asked for, as far as the engine has them. */
const ABORTED_IN: readonly EngineMethod[] = [
  'bootstrap',
  'assemble',
  'commitTurn',
  'afterTurn',
  'ingestBatch',
  'ingest',
  'maintain',
  'compact',
];

const unfinished: Scenario = {
  name: 'turns that do not end well',
  clauses: ['unfinished-turns'],
  async run(bench) {
    for (const isFirst of [true, false]) {
      for (const { kind, options } of KINDS) await go(bench, isFirst, (session) => session.turn(kind, options));
    }
    for (const method of ABORTED_IN.filter((each) => bench.recorder.has(each))) {
      const kind = method === 'compact' ? 'overflow' : 'completed';
      await go(bench, false, (session) => session.turn(kind, { abortIn: method }));
    }
    if (bench.recorder.info.ownsCompaction === true) await go(bench, false, (session) => session.turn('overflow'));
  },
};

/** The turn that does not end well, and a good one after it. */
async function go(
  bench: Bench,
  isFirst: boolean,
  badTurn: (session: HostSession) => Promise<AttemptRun>,
): Promise<void> {
  const session = bench.session();
  if (!isFirst) await session.turn();
  const bad = await badTurn(session);
  const after = await session.turn();
  if (!after.result.finalization.ok) return bench.verdicts.notExercised('unfinished-turns', UNANSWERED);
  const fault = await turnFault(bench, session, after.turn, `a turn that was ${bad.result.outcome}, and a good one,`);
  judgeTurn(bench, 'unfinished-turns', fault === null ? await ghost(bench, session, bad) : fault);
}

/** The prompt of an attempt that never came to its turn must not come up: no row of it was written. */
async function ghost(bench: Bench, session: HostSession, bad: AttemptRun): Promise<Finding | null> {
  if (bad.result.turnId !== null) return null;
  const asked = await session.ask();
  if (session.shown(asked?.answer, bad.turn, 'user').anywhere === 0) return null;
  return bench.finding(
    session,
    'the prompt of an attempt that was aborted before its turn does not come up later',
    'it is in the assembly',
  );
}

export const unfinishedScenarios: readonly Scenario[] = [unfinished];
