import { AttemptError, type ErrorCode, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { capText } from './cap-text.ts';
import { idOf, numberOf, objectOf, stringOf } from './wire-values.ts';

/** Why something failed, as outcomes carry it. `message` is one short line without secrets. */
export interface Fault {
  code: ErrorCode;
  message: string;
}

const MAX_DETAIL = 300;

/** `codexErrorInfo` as a bare word. 0.154 knows fewer of them and says `other` instead. */
const BY_INFO: Readonly<Record<string, ErrorCode>> = {
  contextWindowExceeded: 'context_window_exceeded',
  sessionBudgetExceeded: 'usage_limit_exceeded',
  usageLimitExceeded: 'usage_limit_exceeded',
  rateLimitExceeded: 'rate_limit_exceeded',
  flexUnavailable: 'server_overloaded',
  serverOverloaded: 'server_overloaded',
  policyCapacityUnavailable: 'server_overloaded',
  modelNotFound: 'model_not_found',
  internalServerError: 'http_failed',
  unauthorized: 'unauthorized',
  inferenceHookDenied: 'policy',
  cyberPolicy: 'policy',
  bioPolicy: 'policy',
  misalignmentPolicyViolation: 'policy',
  tooManyDenials: 'policy',
  responseStreamDisconnected: 'stream_lost',
  responseStreamConnectionFailed: 'stream_lost',
  httpConnectionFailed: 'http_failed',
  responseTooManyFailedAttempts: 'http_failed',
  activeTurnNotSteerable: 'thread_busy',
  threadRollbackFailed: 'thread_failed',
};

/** Infos that say too little: the provider's own words, often the raw JSON of its answer, say more. */
const VAGUE: ReadonlySet<string> = new Set([
  'other',
  'badRequest',
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseTooManyFailedAttempts',
]);

/** The provider's codes inside a message. */
const BY_TEXT: readonly (readonly [RegExp, ErrorCode])[] = [
  [/\bcontext_length_exceeded\b/, 'context_window_exceeded'],
  [/\bmodel_not_found\b/, 'model_not_found'],
  [/\b(?:insufficient_quota|usage_limit_reached)\b/, 'usage_limit_exceeded'],
  [/\brate_limit_exceeded\b/, 'rate_limit_exceeded'],
  [/\bserver_is_overloaded\b/, 'server_overloaded'],
  [/\b(?:cyber|bio)_policy\b/, 'policy'],
  [/\binvalid_api_key\b/, 'unauthorized'],
  [/\b(?:invalid_image\w*|image_parse_error)\b/, 'invalid_image'],
  [/\bstream (?:disconnected|closed) before\b/, 'stream_lost'],
];

/** What the user is told; the server's own words follow. */
const SENTENCES: Partial<Record<ErrorCode, string>> = {
  context_window_exceeded: 'the request is larger than the context window of the model',
  usage_limit_exceeded: 'the usage limit of the account is reached',
  rate_limit_exceeded: 'the provider limits the rate of requests',
  server_overloaded: 'the provider is overloaded',
  model_not_found: 'the provider does not know this model',
  unauthorized: 'the provider refused the credentials',
  http_failed: 'the request to the provider failed',
  stream_lost: 'the answer of the provider broke off',
  policy: 'the provider refused the request by policy',
  invalid_image: 'the provider could not read an image',
  thread_busy: 'the thread is busy',
  too_many_requests: 'codex app-server is overloaded',
  prompt_too_large: 'the input is larger than codex app-server takes',
};

/** A turn's error (`turn.error` of `turn/completed`, `error` of the `error` notification), of any version. Total. */
export function classifyTurnError(error: unknown): Fault {
  const from = objectOf(error);
  const said = stringOf(from['message']) ?? '';
  const text = `${said}\n${stringOf(from['additionalDetails']) ?? ''}`;
  const code = codeOfInfo(from['codexErrorInfo'], text) ?? 'turn_failed';
  return { code, message: sentence(code, said) };
}

/**
 * Anything that a request to the app-server rejected with, as an error of ours. An AttemptError is returned as it is; a
 * refusal of the server is known by its numeric code, its data and its words. `fallback`: the code of an unknown one.
 */
export function classifyRpcError(error: unknown, fallback: ErrorCode): AttemptError {
  if (error instanceof AttemptError) return error;
  const said = messageOf(error);
  const code = codeOfRefusal(error, said) ?? fallback;
  return new AttemptError(code, sentence(code, said), { cause: error });
}

/** Whether a fault means that the model refused the request as larger than its context window. */
export function isContextOverflow(fault: Fault | null): boolean {
  return fault?.code === 'context_window_exceeded';
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/**
 * Whether a refused `thread/resume` means that this thread is gone (then a fresh one is started). An answer about
 * another thread, a thread that another process writes, a configuration error and a lost connection are no such thing.
 */
export function isStaleThread(error: unknown, threadId: string): boolean {
  // Only a server's refusal can say so; errors of our own have string codes.
  if (numberOf(objectOf(error)['code']) === null) return false;
  const said = messageOf(error);
  const missing = /^(?:no rollout found for thread id|thread not found)(?::?\s+(\S+?))?\.?$/.exec(said.trim());
  if (missing !== null) return missing[1] === undefined ? said.startsWith('thread not found') : missing[1] === threadId;
  if (!said.startsWith('invalid session id')) return false;
  if (said.includes(threadId)) return true;
  // The server names no id here but complains of the id's form, which can only be ours when ours has a wrong form.
  return !UUID.test(threadId) && !UUID.test(said);
}

function codeOfInfo(info: unknown, text: string): ErrorCode | null {
  const name = stringOf(info) ?? Object.keys(objectOf(info))[0] ?? 'other';
  const vague = VAGUE.has(name) || BY_INFO[name] === undefined;
  const told = vague ? codeOfText(text) : null;
  if (told !== null) return told;
  const status = numberOf(objectOf(objectOf(info)[name])['httpStatusCode']) ?? statusOfText(text, vague);
  return (status === null ? null : codeOfStatus(status)) ?? BY_INFO[name] ?? null;
}

function codeOfText(text: string): ErrorCode | null {
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** 0.154 gives HTTP failures as `other` with the status in the words. */
function statusOfText(text: string, vague: boolean): number | null {
  const found = vague ? /\bunexpected status (\d{3})\b/.exec(text) : null;
  return found === null ? null : Number(found[1]);
}

function codeOfStatus(status: number): ErrorCode | null {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 400 ? 'http_failed' : null;
}

function codeOfRefusal(error: unknown, said: string): ErrorCode | null {
  const from = objectOf(error);
  const data = objectOf(from['data']);
  if (numberOf(from['code']) === -32001) return 'too_many_requests';
  if (data['input_error_code'] === 'input_too_large') return 'prompt_too_large';
  if (data['codexErrorInfo'] !== undefined) return codeOfInfo(data['codexErrorInfo'], said);
  if (/already has an active writer|ActiveTurnNotSteerable|cannot steer a/.test(said)) return 'thread_busy';
  return codeOfText(said);
}

function sentence(code: ErrorCode, said: string): string {
  const detail = oneLine(wordsOf(said));
  const known = SENTENCES[code];
  if (known === undefined) return detail === '' ? 'codex app-server gave no reason' : detail;
  return detail === '' ? known : `${known}: ${detail}`;
}

/** A provider's raw JSON answer is read for its message; any other text is its own. */
function wordsOf(said: string): string {
  const start = said.indexOf('{');
  if (start < 0) return said;
  try {
    const body = objectOf(JSON.parse(said.slice(start)));
    return idOf(objectOf(body['error'])['message']) ?? idOf(body['message']) ?? said;
  } catch (error) {
    if (error instanceof SyntaxError) return said;
    throw error;
  }
}

function oneLine(text: string): string {
  return capText(redact(text).replaceAll(/\s+/g, ' ').trim(), MAX_DETAIL).replaceAll('\n', ' ');
}
