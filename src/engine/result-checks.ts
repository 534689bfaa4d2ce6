import { AttemptError } from '../errors.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import type {
  AssembleResult,
  CommitTurnResult,
  CompactResult,
  ContextProjectionMark,
  SessionTarget,
} from './contract.ts';
import { PlainDataError, plainCopy } from './plain-data.ts';
import { estimateTokens } from './tokens.ts';

/** Hard limits on what one `assemble` may return. Far above any model's window: they stop accidents, not use. */
export const ASSEMBLY_LIMITS = { textChars: 64 * 1024 * 1024, messages: 100_000 } as const;

/** An assembly that the rest of the program may rely on: it is ours (a copy), its numbers are finite. */
export interface CheckedAssembly extends AssembleResult {
  estimatedTokens: number;
}

/**
 * Checks what `assemble` returned (spec L3) and returns a copy of it.
 * - Throws AttemptError `engine_bad_result`, naming the engine and what it returned, unless it is an object with an
 *   array `messages` of messages made of plain data, within `limits`.
 * - Put right with a warning: a tool result without its call is dropped; an addition that is no text, and a projection
 *   mark that cannot be read, count as absent.
 * - Put right in silence: a blank addition is absent; an estimate that is missing, not finite, negative, or 0 for
 *   messages is made anew; mode `per_turn` is what an absent mark means.
 */
export function checkAssembleResult(
  answer: unknown,
  engineId: string,
  warn: (message: string) => void,
  limits: { textChars: number; messages: number } = ASSEMBLY_LIMITS,
): CheckedAssembly {
  const bad = (what: string): AttemptError => badResult(engineId, 'assemble', what);
  if (!isRecord(answer)) throw bad(`expected an object with a "messages" array, got ${typeNameOf(answer)}`);
  const { messages, systemPromptAddition, contextProjection, estimatedTokens, promptAuthority } = answer;
  if (!Array.isArray(messages)) throw bad(`expected "messages" to be an array, got ${typeNameOf(messages)}`);
  if (messages.length > limits.messages) {
    throw bad(`${messages.length} messages are more than the limit of ${limits.messages}`);
  }
  const copy = copyMessages(messages, limits.textChars, bad);
  const paired = dropUnpairedResults(copy);
  const name = `context engine "${engineId}" assemble()`;
  if (paired.length < copy.length) {
    warn(`${name} returned ${copy.length - paired.length} tool result(s) without their call; left out`);
  }
  const addition = checkAddition(systemPromptAddition, limits.textChars, bad, () =>
    warn(`${name} returned a systemPromptAddition that is ${typeNameOf(systemPromptAddition)}; left out`),
  );
  const mark = checkProjectionMark(contextProjection, () =>
    warn(`${name} returned a contextProjection that cannot be read; taken as absent`),
  );
  return {
    messages: paired,
    estimatedTokens: isUsableEstimate(estimatedTokens, paired) ? estimatedTokens : estimateTokens(paired),
    ...(addition === undefined ? {} : { systemPromptAddition: addition }),
    ...(mark === undefined ? {} : { contextProjection: mark }),
    ...(typeof promptAuthority === 'string' ? { promptAuthority } : {}),
  };
}

/** Checks what `compact` returned: `{ ok, compacted }` of booleans, token figures finite or absent. */
export function checkCompactResult(answer: unknown, engineId: string): CompactResult {
  const bad = (what: string): AttemptError => badResult(engineId, 'compact', what);
  if (!isRecord(answer)) throw bad(`expected an object, got ${typeNameOf(answer)}`);
  const { ok, compacted, reason, result } = answer;
  if (typeof ok !== 'boolean' || typeof compacted !== 'boolean') {
    throw bad(`expected booleans "ok" and "compacted", got ${typeNameOf(ok)} and ${typeNameOf(compacted)}`);
  }
  if (result !== undefined && result !== null && !isRecord(result)) {
    throw bad(`expected "result" to be an object, got ${typeNameOf(result)}`);
  }
  const checked: CompactResult = { ok, compacted, ...(typeof reason === 'string' ? { reason } : {}) };
  if (!isRecord(result)) return checked;
  const { tokensBefore, tokensAfter, sessionId, sessionFile, sessionTarget, ...rest } = plainOr(result, bad);
  const target = isRecord(sessionTarget) ? sessionTarget : {};
  for (const [name, value] of Object.entries({
    sessionId,
    sessionFile,
    'sessionTarget.sessionId': target['sessionId'],
    'sessionTarget.storePath': target['storePath'],
  })) {
    if (value !== undefined && value !== null && !isOneLine(value)) throw bad(`"${name}" is no text of one line`);
  }
  checked.result = {
    ...rest,
    ...(isOneLine(sessionId) ? { sessionId } : {}),
    ...(isOneLine(sessionFile) ? { sessionFile } : {}),
    ...(isRecord(sessionTarget) ? { sessionTarget: withoutNull(sessionTarget) as Partial<SessionTarget> } : {}),
    ...(isCount(tokensBefore) ? { tokensBefore } : {}),
    ...(isCount(tokensAfter) ? { tokensAfter } : {}),
  };
  return checked;
}

/** Checks what `commitTurn` returned. Anything but the two answers of the contract is no commit. */
export function checkCommitResult(answer: unknown, engineId: string): CommitTurnResult {
  const status = isRecord(answer) ? answer['status'] : undefined;
  if (status === 'committed' || status === 'duplicate') return { status };
  throw badResult(engineId, 'commitTurn', 'expected { status: "committed" | "duplicate" }');
}

function badResult(engineId: string, method: string, what: string): AttemptError {
  return new AttemptError(
    'engine_bad_result',
    `context engine "${engineId}" ${method}() returned a bad result: ${what}`,
    {
      data: { engineId, method },
    },
  );
}

function copyMessages(messages: unknown[], textChars: number, bad: (what: string) => AttemptError): AgentMessage[] {
  const copy = plainOr({ messages }, bad, textChars)['messages'];
  if (!Array.isArray(copy)) throw bad('"messages" could not be read');
  return copy.map((message: unknown, index) => {
    if (!isMessage(message)) throw bad(`messages[${index}] is not a message with a role and content`);
    return message;
  });
}

function plainOr(
  value: Readonly<Record<string, unknown>>,
  bad: (what: string) => AttemptError,
  textChars: number = ASSEMBLY_LIMITS.textChars,
): Record<string, unknown> {
  try {
    return plainCopy(value, textChars);
  } catch (error) {
    if (error instanceof PlainDataError) throw bad(error.message);
    throw error;
  }
}

/** A role, and content that is a text, a list, or absent (rows of other kinds keep theirs elsewhere). */
function isMessage(value: unknown): value is AgentMessage {
  if (!isRecord(value) || typeof value['role'] !== 'string' || value['role'] === '') return false;
  const content = value['content'];
  if (content === undefined) return !['user', 'assistant', 'toolResult'].includes(value['role']);
  return typeof content === 'string' || (Array.isArray(content) && content.every(isRecord));
}

/** Leaves out every tool result that does not follow a call of its id that is still unanswered. */
function dropUnpairedResults(messages: AgentMessage[]): AgentMessage[] {
  const open = new Set<string>();
  return messages.filter((message) => {
    if (message.role === 'toolResult') return open.delete(message.toolCallId);
    if (message.role === 'assistant' && Array.isArray(message.content)) {
      for (const part of message.content) if (part.type === 'toolCall') open.add(part.id);
    }
    return true;
  });
}

function checkAddition(
  value: unknown,
  textChars: number,
  bad: (what: string) => AttemptError,
  complain: () => void,
): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    complain();
    return undefined;
  }
  if (value.length > textChars) throw bad(`its systemPromptAddition is longer than ${textChars} characters`);
  return value.trim() === '' ? undefined : value;
}

function checkProjectionMark(value: unknown, complain: () => void): ContextProjectionMark | undefined {
  if (value === undefined || value === null) return undefined;
  const { mode, epoch, fingerprint } = isRecord(value) ? value : {};
  if (mode === 'per_turn') return undefined;
  if (mode !== 'thread_bootstrap' || typeof epoch !== 'string' || epoch === '') {
    complain();
    return undefined;
  }
  return { mode, epoch, ...(typeof fingerprint === 'string' ? { fingerprint } : {}) };
}

function isUsableEstimate(value: unknown, messages: readonly AgentMessage[]): value is number {
  return isCount(value) && (value > 0 || messages.length === 0);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** An engine may say that it knows nothing of a place by null. */
function withoutNull(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function isOneLine(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && !/[\r\n\u2028\u2029]/.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
