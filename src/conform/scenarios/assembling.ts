import { estimateTokens } from '../../engine/tokens.ts';
import type { AgentMessage } from '../../transcript/messages.ts';
import { messagesOf } from '../checks.ts';
import { excerpt } from '../data.ts';
import type { Speaker } from '../marks.ts';
import { textsOf } from '../marks.ts';
import { type Scenario, UNANSWERED } from './scenario.ts';
import { seededRows } from './seeded-rows.ts';

/** An engine may count tokens in another way: so many times the budget, by this host's estimate, still fit. */
export const BUDGET_TOLERANCE = 2;

/** Tokens; the session that is assembled has several times as many. */
const BUDGETS = [1_500, 2_500, 5_000] as const;
const EXCHANGES = 90;

const emptyHistory: Scenario = {
  name: 'a session without any message',
  clauses: ['empty-history', 'available-tools'],
  async run(bench) {
    const session = bench.session();
    await session.look();
    await session.ask({ availableTools: new Set() });
    await session.ask({ tokenBudget: 100 });
  },
};

const budget: Scenario = {
  name: 'a long session and a small budget',
  clauses: ['budget', 'tool-pairs'],
  async run(bench) {
    const session = bench.session();
    await session.seed(seededRows(session, EXCHANGES));
    for (const tokenBudget of BUDGETS) {
      const { answer } = await session.look({ tokenBudget });
      if (answer === null) return bench.verdicts.notExercised('budget', UNANSWERED);
      // It was checked to be a list of messages when it was recorded.
      const messages = messagesOf(answer) as readonly AgentMessage[];
      const tokens = estimateTokens(messages);
      const isOver = tokens > tokenBudget * BUDGET_TOLERANCE;
      bench.verdicts.judge(
        'budget',
        isOver
          ? bench.finding(
              session,
              `at most ${tokenBudget} tokens (${BUDGET_TOLERANCE} times as many, for other ways to count)`,
              `${messages.length} messages of about ${tokens} tokens`,
            )
          : null,
      );
    }
  },
};

/** Text that has been lost or changed on the way through files, databases and patterns before. */
const ODD_TEXT =
  'tab\there, "quotes" and \\ backslash, é and e\u0301, 漢字 and العربية, 👩‍👩‍👧‍👦 𝒳, line\u2028and\u2029separators, ' +
  '\u200bzero width\u200d, \u202eturned\u202c, $& and %s and {{x}}, </conversation_context>, {"__proto__": 1}, a line\nbreak, end';

const text: Scenario = {
  name: 'text of any kind',
  clauses: ['text'],
  async run(bench) {
    const session = bench.session();
    const odd = (speaker: Speaker): string => `${session.mark(1, speaker)} ${ODD_TEXT}`;
    await session.turn('completed', { texts: { user: odd('user'), answer: odd('answer') } });
    const { answer } = await session.look();
    if (answer === null) return bench.verdicts.notExercised('text', UNANSWERED);
    for (const speaker of ['user', 'answer'] as const) {
      const shown = textsOf(messagesOf(answer)).filter((each) => each.includes(session.mark(1, speaker)));
      if (shown.length === 0) bench.verdicts.notExercised('text', 'no message of the turn is shown as it was said');
      for (const each of shown) {
        const isWhole = each.includes(odd(speaker));
        bench.verdicts.judge(
          'text',
          isWhole
            ? null
            : bench.finding(
                session,
                excerpt(odd(speaker)),
                `${excerpt(each)}; they differ ${differAt(odd(speaker), each)}`,
              ),
        );
      }
    }
  },
};

function differAt(said: string, shown: string): string {
  const from = shown.indexOf(said.slice(0, said.indexOf(']') + 1));
  let at = 0;
  while (at < said.length && said[at] === shown[from + at]) at += 1;
  return `at character ${at}: ${excerpt(said.slice(at, at + 8))} became ${excerpt(shown.slice(from + at, from + at + 8))}`;
}

export const assemblingScenarios: readonly Scenario[] = [emptyHistory, text, budget];
