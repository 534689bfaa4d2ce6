import type { AttemptOutcome } from '../../machines/index.ts';
import { redact } from '../observe/redact.ts';
import type { AgentEndEvent, LlmOutputEvent } from '../ports.ts';
import { runNotifyHook } from './hook-calls.ts';
import { type AttemptRecord, historyOf } from './record.ts';
import { endOf } from './turn-end.ts';

/**
 * `llm_output`, once per attempt that has entered `turning`, then `agent_end`, exactly once per attempt: at the end of
 * `mirroring`, else when the attempt has ended (design 6). A signal that has aborted already means that the state is
 * over: nothing is told then, and the end of the attempt does it.
 */
export async function tellEnd(record: AttemptRecord, signal: AbortSignal, ended?: AttemptOutcome): Promise<void> {
  await tellLlmOutput(record, signal, ended);
  await tellAgentEnd(record, signal, ended);
}

async function tellLlmOutput(record: AttemptRecord, signal: AbortSignal, ended?: AttemptOutcome): Promise<void> {
  const { turn, llmOutputTold } = record.slots;
  if (turn === undefined || llmOutputTold === true || signal.aborted) return;
  record.slots.llmOutputTold = true;
  const { text } = turn.projector.snapshot(endOf(record));
  await tell(record, 'llm_output', signal, { text, usage: turn.projector.usage.turn }, ended);
}

async function tellAgentEnd(record: AttemptRecord, signal: AbortSignal, ended?: AttemptOutcome): Promise<void> {
  if (record.slots.agentEndTold === true || signal.aborted) return;
  record.slots.agentEndTold = true;
  const { outcome: reached, cause } = record.machine();
  const outcome = ended ?? reached ?? 'failed';
  const event = {
    outcome,
    success: outcome === 'completed' || outcome === 'yielded',
    aborted: outcome === 'aborted',
    timedOut: outcome === 'failed' && cause?.code.startsWith('budget_') === true,
    durationMs: record.services.clock.now() - record.startedAt,
    ...(cause === null ? {} : { error: { code: cause.code, message: redact(cause.message) } }),
    messages: [...historyOf(record).messages, ...(record.slots.mirrored?.rows ?? []).map((row) => row.message)],
  };
  await tell(record, 'agent_end', signal, event, ended);
}

function tell(
  record: AttemptRecord,
  name: 'llm_output' | 'agent_end',
  signal: AbortSignal,
  event: LlmOutputEvent | AgentEndEvent,
  ended?: AttemptOutcome,
): Promise<void> {
  // Whoever aborts does not want to wait for a hook.
  const { hooks, graceMirror } = record.params.budgets;
  const hurried = record.machine().stop === 'abort';
  return runNotifyHook(
    record,
    ended ?? 'mirroring',
    name,
    signal,
    event,
    hurried ? Math.min(hooks, graceMirror) : hooks,
  );
}
