import { BLOCKING_WARNING_MS } from '../engine/call-engine.ts';
import { checkAssembleResult, checkCommitResult, checkCompactResult } from '../engine/result-checks.ts';
import { messageOf } from '../errors.ts';
import { difference, excerpt, isRecord } from './data.ts';
import type { RecordedCall } from './recorder.ts';
import type { Finding, Verdicts } from './verdicts.ts';

/** Milliseconds that a call may block the event loop. More, and aborts and Codex's own messages wait noticeably. */
export const STALL_LIMIT_MS = BLOCKING_WARNING_MS;

/** What is looked at in every single call, whatever it was made for. `refusable`: the call may well be refused. */
export function checkCall(
  call: RecordedCall,
  verdicts: Verdicts,
  where: { path: readonly string[]; engineId: string; refusable: boolean },
): void {
  if (call.end === 'refused') return;
  const broken = (expected: string, found: string): Finding => ({ expected, found, path: where.path });
  const name = `${call.method}()`;
  verdicts.judge('hangs', call.end === 'hung' ? broken(`${name} is answered`, call.error ?? 'no answer') : null);
  verdicts.judge(
    'event-loop',
    call.stallMs > STALL_LIMIT_MS
      ? broken(
          `the event loop stands still for at most ${STALL_LIMIT_MS} ms`,
          `${name} blocked it for ${call.stallMs} ms`,
        )
      : null,
  );
  verdicts.judge(
    'inputs',
    call.changed === null
      ? null
      : broken(
          `${name} leaves its parameters alone`,
          `${call.changed.at} was ${call.changed.before} and is ${call.changed.after}`,
        ),
  );
  if (call.end === 'answered' || (call.end === 'threw' && !where.refusable)) checkEnd(call, verdicts, broken);
  if (call.end !== 'answered') return;
  const misshapen = shapeFault(call, where.engineId);
  verdicts.judge('shapes', misshapen === null ? null : broken(SHAPES[call.method] ?? 'an answer', misshapen));
  if (call.method === 'assemble' && misshapen === null) checkAssembly(call, verdicts, broken);
}

/** A throw is told once: by the clause that says most about its cause. */
function checkEnd(call: RecordedCall, verdicts: Verdicts, broken: (expected: string, found: string) => Finding): void {
  const threw = call.end === 'threw' ? `${call.method}() threw: ${call.error ?? ''}` : null;
  const isAssemble = call.method === 'assemble';
  if (isAssemble && threw !== null && call.toolsTakenForArray) {
    verdicts.broken('available-tools', broken('assemble() takes a Set', `${threw} (it used the Set as an array)`));
    return;
  }
  if (isAssemble && threw === null) verdicts.held('available-tools');
  const isEmpty = isAssemble && messagesOf(call.params).length === 0;
  const expected = isEmpty ? 'assemble() answers for an empty history' : `${call.method}() answers`;
  verdicts.judge(isEmpty ? 'empty-history' : 'answers', threw === null ? null : broken(expected, threw));
}

const SHAPES: Readonly<Partial<Record<RecordedCall['method'], string>>> = {
  assemble: '{ messages, estimatedTokens?, systemPromptAddition?, contextProjection? }',
  compact: '{ ok, compacted, reason?, result? }',
  commitTurn: '{ status: "committed" | "duplicate" }',
  maintain: '{ changed?, bytesFreed?, rewrittenEntries?, reason? } or nothing',
};

/** What is wrong with an answer, or null. Answers that no host reads are not looked at. */
function shapeFault({ method, answer }: RecordedCall, engineId: string): string | null {
  try {
    if (method === 'compact') checkCompactResult(answer, engineId);
    if (method === 'commitTurn') checkCommitResult(answer, engineId);
    if (method === 'maintain') return maintainFault(answer);
    if (method === 'assemble') return assembleFault(answer, engineId);
    return null;
  } catch (error) {
    return method === 'commitTurn' ? excerpt(answer) : messageOf(error);
  }
}

function maintainFault(answer: unknown): string | null {
  if (answer === undefined || answer === null) return null;
  if (!isRecord(answer)) return excerpt(answer);
  const { changed, bytesFreed, rewrittenEntries } = answer;
  if (changed !== undefined && typeof changed !== 'boolean') return `changed is ${excerpt(changed)}`;
  for (const [name, value] of Object.entries({ bytesFreed, rewrittenEntries })) {
    if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value)))
      return `${name} is ${excerpt(value)}`;
  }
  return null;
}

function assembleFault(answer: unknown, engineId: string): string | null {
  checkAssembleResult(answer, engineId, () => undefined);
  if (!isRecord(answer) || !Array.isArray(answer['messages'])) return excerpt(answer);
  const { messages, estimatedTokens } = answer;
  if (estimatedTokens !== undefined && !(typeof estimatedTokens === 'number' && estimatedTokens >= 0)) {
    return `estimatedTokens is ${excerpt(estimatedTokens)}`;
  }
  // Results without their call have a clause of their own.
  const warnings: string[] = [];
  const unpaired = { ...answer, messages: messages.filter((message: unknown) => roleOf(message) !== 'toolResult') };
  checkAssembleResult(unpaired, engineId, (warning) => warnings.push(warning));
  return warnings[0] ?? null;
}

function checkAssembly(
  call: RecordedCall,
  verdicts: Verdicts,
  broken: (expected: string, found: string) => Finding,
): void {
  const { answer, again, params } = call;
  const unpaired = pairFault(messagesOf(answer), messagesOf(params));
  verdicts.judge(
    'tool-pairs',
    unpaired === null ? null : broken('each tool call with its result, and each result with its call', unpaired),
  );
  if (again === null) return;
  const other = difference(comparable(answer), comparable(again.answer));
  verdicts.judge(
    'determinism',
    other === null
      ? null
      : broken(
          'assemble() answers the same when it is asked the same twice',
          `${other.at} was ${other.before}, then ${other.after}`,
        ),
  );
  const [epoch, next] = [epochOf(answer), epochOf(again.answer)];
  if (epoch === null && next === null) return;
  verdicts.judge(
    'epoch',
    epoch === next ? null : broken('the same epoch for the same question', `${excerpt(epoch)}, then ${excerpt(next)}`),
  );
}

/** An assembly without what `epoch` is about. */
export function comparable(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  const { messages, systemPromptAddition, estimatedTokens, promptAuthority, contextProjection } = answer;
  const mode = isRecord(contextProjection) ? contextProjection['mode'] : undefined;
  return { messages, systemPromptAddition, estimatedTokens, promptAuthority, mode };
}

/** The epoch of an assembly, or null. */
export function epochOf(answer: unknown): string | null {
  const projection = isRecord(answer) ? answer['contextProjection'] : undefined;
  const epoch = isRecord(projection) ? projection['epoch'] : undefined;
  return typeof epoch === 'string' ? epoch : null;
}

/** The messages of an assembly, or of the parameters of one. */
export function messagesOf(holder: unknown): readonly unknown[] {
  const messages = isRecord(holder) ? holder['messages'] : undefined;
  return Array.isArray(messages) ? messages : [];
}

/**
 * What stands alone in an assembly: a result that follows no open call of its id, or a call whose result is left out
 * although the history has it. A call that never got a result may stand alone.
 */
export function pairFault(assembled: readonly unknown[], history: readonly unknown[]): string | null {
  const answered = new Set(history.filter((message) => roleOf(message) === 'toolResult').map(callIdOf));
  const open = new Set<string>();
  for (const [index, message] of assembled.entries()) {
    for (const id of callsOf(message)) open.add(id);
    if (roleOf(message) === 'toolResult' && !open.delete(callIdOf(message))) {
      return `messages[${index}] is the result of ${excerpt(callIdOf(message))}, whose call is not before it`;
    }
  }
  const alone = [...open].find((id) => answered.has(id));
  return alone === undefined ? null : `the call ${excerpt(alone)} is there, its result is not`;
}

function roleOf(message: unknown): unknown {
  return isRecord(message) ? message['role'] : undefined;
}

function callIdOf(message: unknown): string {
  return isRecord(message) ? String(message['toolCallId']) : '';
}

function callsOf(message: unknown): string[] {
  const content = isRecord(message) && message['role'] === 'assistant' ? message['content'] : [];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) => (isRecord(part) && part['type'] === 'toolCall' ? String(part['id']) : []));
}
