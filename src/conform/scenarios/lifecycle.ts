import { estimateTokens } from '../../engine/tokens.ts';
import type { AgentMessage } from '../../transcript/messages.ts';
import { epochOf, messagesOf } from '../checks.ts';
import { excerpt, isRecord } from '../data.ts';
import { judgeTurn, type Scenario, turnFault, UNANSWERED } from './scenario.ts';
import { seededRows } from './seeded-rows.ts';

const bootstrapTwice: Scenario = {
  name: 'bootstrap twice in a row',
  clauses: ['bootstrap-twice'],
  async run(bench) {
    const { recorder, verdicts } = bench;
    if (!recorder.has('bootstrap')) return verdicts.notExercised('bootstrap-twice', 'the engine has no bootstrap()');
    const exchanges = 3;
    for (const withTurn of [false, true]) {
      const session = bench.session();
      await session.seed(seededRows(session, exchanges));
      recorder.doubled = 'bootstrap';
      if (withTurn) await session.turn();
      const { answer } = await session.look();
      recorder.doubled = null;
      if (answer === null) return verdicts.notExercised('bootstrap-twice', UNANSWERED);
      const expected = 'after two bootstraps each message of the session is shown at most once, and the newest is';
      const turns = Array.from({ length: exchanges }, (_, index) => `x${index + 1}`);
      const twice = turns.find((turn) => session.shown(answer, turn, 'user').messages > 1);
      const isLost = session.shown(answer, `x${exchanges}`, 'answer').anywhere === 0;
      verdicts.judge(
        'bootstrap-twice',
        twice !== undefined
          ? bench.finding(
              session,
              expected,
              `a message is shown ${session.shown(answer, twice, 'user').messages} times`,
            )
          : isLost
            ? bench.finding(session, expected, 'the newest message of the session is not shown')
            : null,
      );
    }
  },
};

const compact: Scenario = {
  name: 'a compaction',
  clauses: ['compact'],
  async run(bench) {
    const { recorder, verdicts } = bench;
    const session = bench.session();
    await session.seed(seededRows(session, 40));
    const { turn } = await session.turn('tools');
    const before = await session.look();
    const owns = recorder.info.ownsCompaction === true;
    if (owns) await session.compact();
    else {
      const {
        messages: _,
        prompt: _prompt,
        availableTools: _tools,
        ...base
      } = session.lastCall('assemble')?.params ?? {};
      await session.call('compact', { ...base, force: true, compactionTarget: 'threshold' });
    }
    const call = session.lastCall('compact');
    if (call?.end !== 'answered' || !isRecord(call.answer)) return verdicts.notExercised('compact', UNANSWERED);
    if (owns && call.answer['ok'] === false) {
      const reason = excerpt(call.answer['reason'] ?? 'no reason');
      return verdicts.broken(
        'compact',
        bench.finding(session, 'a compaction that is asked for by force is ok', `ok: false, ${reason}`),
      );
    }
    const fault = await turnFault(bench, session, turn, 'a compaction');
    const after = await session.look();
    if (fault !== null || before.answer === null || after.answer === null)
      return judgeTurn(bench, 'compact', fault ?? undefined);
    const [was, is] = [tokensOf(before.answer), tokensOf(after.answer)];
    const isLarger = call.answer['compacted'] === true && is > was;
    verdicts.judge(
      'compact',
      isLarger
        ? bench.finding(
            session,
            'after compacted: true the assembly is no larger',
            `about ${was} tokens before, ${is} after`,
          )
        : null,
    );
  },
};

function tokensOf(answer: unknown): number {
  // It was checked to be a list of messages when it was recorded.
  return estimateTokens(messagesOf(answer) as readonly AgentMessage[]);
}

/** Turns in which an epoch has to stay at least once. */
const EPOCH_TURNS = 4;

const epochs: Scenario = {
  name: 'epochs over a short conversation',
  clauses: ['epoch'],
  async run(bench) {
    const { verdicts } = bench;
    const session = bench.session();
    const seen: string[] = [];
    for (let turn = 1; turn <= EPOCH_TURNS; turn += 1) {
      await session.turn();
      const { answer } = await session.look();
      const epoch = epochOf(answer);
      if (epoch === null) continue;
      seen.push(epoch);
      const asked = await session.ask({
        prompt: `${session.mark(turn, 'partial')} Something else entirely, about trains.`,
      });
      if (asked?.end !== 'answered') continue;
      const other = epochOf(asked.answer);
      verdicts.judge(
        'epoch',
        other === null || other === epoch
          ? null
          : bench.finding(
              session,
              'the epoch does not depend on the prompt',
              `${excerpt(epoch)}, with another prompt ${excerpt(other)}`,
            ),
      );
    }
    if (seen.length === 0) return verdicts.notExercised('epoch', 'assemble() returns no contextProjection');
    if (seen.length < EPOCH_TURNS) return;
    const isFreshEachTurn = new Set(seen).size === seen.length;
    verdicts.judge(
      'epoch',
      isFreshEachTurn
        ? bench.finding(
            session,
            `over ${EPOCH_TURNS} short turns the epoch stays at least once`,
            `a fresh one after every turn: ${seen.map(excerpt).join(', ')}`,
          )
        : null,
    );
  },
};

const dispose: Scenario = {
  name: 'dispose twice',
  clauses: ['dispose'],
  async run(bench) {
    const { recorder, verdicts } = bench;
    if (!recorder.has('dispose')) return verdicts.notExercised('dispose', 'the engine has no dispose()');
    await recorder.restart();
    for (const path of [['dispose'], ['dispose', 'dispose']]) {
      const fault = await recorder.disposeOnce();
      verdicts.judge(
        'dispose',
        fault === null ? null : { expected: 'dispose() ends without an error', found: fault, path },
      );
    }
    await recorder.restart();
  },
};

export const lifecycleScenarios: readonly Scenario[] = [bootstrapTwice, compact, epochs, dispose];
