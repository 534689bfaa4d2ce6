import { assistantRow } from '../../testing/controlled/messages.ts';
import type { AgentMessage, ToolResultMessage } from '../../transcript/messages.ts';
import type { HostSession } from '../session.ts';

/** Of so many rows two are a tool call and its result. */
const TOOL_EVERY = 3;
const FILLER =
  'The ferry leaves the old harbour every hour, passes the two islands and comes back before the evening; tickets are sold on board.';

/**
 * Exchanges that a session holds before the engine knows it, as rows: a question, now and then a tool call with its
 * result, and an answer. About 45 tokens each. Exchange `n` is marked as turn `xn`.
 */
export function seededRows(session: HostSession, exchanges: number): AgentMessage[] {
  const rows: AgentMessage[] = [];
  const stamp = (message: AgentMessage): AgentMessage => ({
    ...message,
    timestamp: 1_700_000_000_000 + rows.length * 1000,
  });
  for (let n = 1; n <= exchanges; n += 1) {
    const turn = `x${n}`;
    rows.push(stamp({ role: 'user', content: `${session.mark(turn, 'user')} Question ${n}. ${FILLER}`, timestamp: 0 }));
    if (n % TOOL_EVERY === 0) {
      const id = `call-${session.label}-${n}`;
      const call = { type: 'toolCall' as const, id, name: 'lookup', arguments: { question: `number ${n}` } };
      rows.push(
        stamp({ ...assistantRow(''), content: [call], stopReason: 'toolUse' }),
        stamp(resultRow(id, session.mark(turn, 'tool'))),
      );
    }
    rows.push(stamp(assistantRow(`${session.mark(turn, 'answer')} Answer ${n}. ${FILLER}`)));
  }
  return rows;
}

function resultRow(toolCallId: string, word: string): ToolResultMessage {
  const content = [{ type: 'text' as const, text: `${word} ${FILLER}` }];
  return { role: 'toolResult', toolCallId, toolName: 'lookup', content, isError: false, timestamp: 0 };
}
