import type { HostTool } from '../ports.ts';
import type { ControlledTurn } from '../testing/controlled/turn.ts';
import type { Speaker } from './marks.ts';

/** What becomes of a native turn. `overflow`: once too long for the model, then completed. */
export type TurnKind = 'completed' | 'tools' | 'failed' | 'aborted' | 'yielded' | 'overflow';

/** How the app-server leads one turn of an examination. */
export interface TurnLead {
  kind: TurnKind;
  /** What somebody says in this turn. */
  says: (speaker: Speaker) => string;
  /** It is the first native turn of its attempt. */
  isFirst: boolean;
  /** Aborts the attempt. */
  abort: () => void;
}

/** Leads a turn that has begun to what its kind says. A yielded one ends when it is interrupted, an aborted one too. */
export async function leadTurn(native: ControlledTurn, { kind, says, isFirst, abort }: TurnLead): Promise<void> {
  const usage = { input: 900, cached: 600, output: 40, window: 272_000 };
  switch (kind) {
    case 'failed':
      native.openMessage(says('partial')).usage(usage).failed('the model is overloaded', 'serverOverloaded');
      return;
    case 'aborted':
      native.openMessage(says('partial'));
      abort();
      return;
    case 'yielded':
      await native.tool('lookup', { question: `${WAIT} ${says('tool')}` });
      return;
    case 'overflow':
      if (isFirst) {
        native.failed('the request is too long for the model', 'contextWindowExceeded');
        return;
      }
      break;
    case 'tools':
      await native.tool('lookup', { question: says('tool') });
      native.command('ls', `a.txt\nb.txt ${says('tool')}`);
      break;
    case 'completed':
      break;
  }
  native.message(says('answer')).usage(usage).completed();
}

/** Long enough for a summary to be shorter than what it sums up. */
const DETAIL =
  'I would like to know what the sky looks like, how strong the wind is and where it comes from, how high the waves are ' +
  'outside and inside the harbour wall, when the tide turns, and which of the boats that left this morning are back by now.';

/** What is said in a turn, by default; `word` marks it. */
export function sentencesOf(turn: number, word: string): Readonly<Record<Speaker, string>> {
  return {
    user: `${word} Please tell me what the weather is like in the harbour of town number ${turn}. ${DETAIL}`,
    answer: `${word} In town number ${turn} the sun shines on the harbour and the wind is low.`,
    tool: `${word} measured at the harbour`,
    partial: `${word} In town number ${turn} the sun`,
  };
}

/** A question that begins with it ends the turn. */
const WAIT = 'wait for';

/** The tool that turns of an examination call. */
export const OWN_TOOLS: readonly HostTool[] = [
  {
    name: 'lookup',
    description: 'Looks something up, or waits for it.',
    parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    execute({ question }) {
      const asked = String(question);
      return asked.startsWith(WAIT) ? { text: `Waiting: ${asked}`, yield: true } : `Result of ${asked}`;
    },
  },
];
