import { describe, expect, it } from 'vitest';
import { RpcError } from '../../src/codex/errors.ts';
import { classifyRpcError, classifyTurnError, isContextOverflow, isStaleThread } from '../../src/codex/turn-errors.ts';
import { AttemptError, ERROR_CODES } from '../../src/errors.ts';

const raw = (code: string, message = 'words') => JSON.stringify({ error: { message, type: 'x', param: null, code } });
const http = (name: string, status: number | null) => ({ [name]: { httpStatusCode: status } });

describe('classifyTurnError', () => {
  it.each<[string, unknown, string, string]>([
    // 0.171
    ['401', http('httpConnectionFailed', 401), '', 'unauthorized'],
    ['403', http('httpConnectionFailed', 403), '', 'unauthorized'],
    ['404', http('httpConnectionFailed', 404), '', 'http_failed'],
    ['502', http('httpConnectionFailed', 502), '', 'http_failed'],
    ['no status', http('httpConnectionFailed', null), '', 'http_failed'],
    ['400', 'other', raw('bad_thing'), 'turn_failed'],
    ['400 overflow', 'contextWindowExceeded', '', 'context_window_exceeded'],
    ['404 model', 'modelNotFound', '', 'model_not_found'],
    ['429', http('responseTooManyFailedAttempts', 429), '', 'rate_limit_exceeded'],
    ['too many of another kind', http('responseTooManyFailedAttempts', 500), '', 'http_failed'],
    ['429 usage limit', 'usageLimitExceeded', '', 'usage_limit_exceeded'],
    ['session budget', 'sessionBudgetExceeded', '', 'usage_limit_exceeded'],
    ['500', 'internalServerError', '', 'http_failed'],
    ['overloaded', 'serverOverloaded', '', 'server_overloaded'],
    ['capacity', 'policyCapacityUnavailable', '', 'server_overloaded'],
    ['rate limit', 'rateLimitExceeded', '', 'rate_limit_exceeded'],
    ['cyber', 'cyberPolicy', '', 'policy'],
    ['bio', 'bioPolicy', '', 'policy'],
    ['misalignment', 'misalignmentPolicyViolation', '', 'policy'],
    ['unauthorized', 'unauthorized', '', 'unauthorized'],
    ['stream lost', http('responseStreamDisconnected', null), '', 'stream_lost'],
    ['stream never came', http('responseStreamConnectionFailed', null), '', 'stream_lost'],
    ['stream refused', http('responseStreamConnectionFailed', 503), '', 'http_failed'],
    ['steered a compaction', { activeTurnNotSteerable: { turnKind: 'compact' } }, '', 'thread_busy'],
    // 0.154, which says `other` and gives the provider's raw answer
    ['0.154 overflow', 'other', raw('context_length_exceeded'), 'context_window_exceeded'],
    ['0.154 model', 'other', raw('model_not_found'), 'model_not_found'],
    ['0.154 quota', http('responseTooManyFailedAttempts', 429), raw('insufficient_quota'), 'usage_limit_exceeded'],
    ['0.154 401', 'other', 'unexpected status 401 Unauthorized: no', 'unauthorized'],
    ['0.154 503', 'other', 'unexpected status 503 Service Unavailable', 'http_failed'],
    ['dropped stream', 'other', 'stream disconnected before completion: eof', 'stream_lost'],
    ['an image', 'badRequest', raw('invalid_image_url'), 'invalid_image'],
    // unknown
    ['a future word', 'somethingNew', 'hm', 'turn_failed'],
    ['a future object', { somethingNew: { a: 1 } }, 'hm', 'turn_failed'],
    ['null', null, 'hm', 'turn_failed'],
    ['a number', 7, 'hm', 'turn_failed'],
  ])('%s', (_name, codexErrorInfo, message, code) => {
    const fault = classifyTurnError({ message, codexErrorInfo, additionalDetails: null, misalignment: null });
    expect(fault.code).toBe(code);
    expect(ERROR_CODES).toContain(fault.code);
    expect(isContextOverflow(fault)).toBe(code === 'context_window_exceeded');
    expect(fault.message).not.toBe('');
  });

  it.each([undefined, null, 'text', 5, [], {}, { message: 5 }])('is total: %j', (error) => {
    expect(classifyTurnError(error)).toEqual({ code: 'turn_failed', message: 'codex app-server gave no reason' });
  });

  it('a bare word of the server beats words in its message', () => {
    const error = { codexErrorInfo: 'serverOverloaded', message: 'the user wrote context_length_exceeded' };
    expect(classifyTurnError(error).code).toBe('server_overloaded');
  });

  it('says one short line in human words, without secrets', () => {
    const told = raw('model_not_found', `no model\nfor sk-abcdefghijklmnop ${'x'.repeat(2_000)}`);
    const { message } = classifyTurnError({ codexErrorInfo: 'modelNotFound', message: told });
    expect(message.startsWith('the provider does not know this model: no model for [redacted] xxx')).toBe(true);
    expect(message).not.toMatch(/[\n{]|sk-abc/);
    expect(message.length).toBeLessThan(450);
  });

  it('an answer that only looks like JSON is said as it is', () => {
    expect(classifyTurnError({ message: 'bad {thing' }).message).toBe('bad {thing');
  });
});

const refusal = (message: string, code = -32600, data?: unknown) => new RpcError({ code, message, data, method: 'x' });

describe('classifyRpcError', () => {
  it.each<[unknown, string]>([
    [refusal('Server overloaded; retry later.', -32001), 'too_many_requests'],
    [
      refusal('Input exceeds the maximum length of 1048576 characters.', -32602, {
        input_error_code: 'input_too_large',
      }),
      'prompt_too_large',
    ],
    [refusal('thread 1 already has an active writer'), 'thread_busy'],
    [refusal('failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }', -32603), 'thread_busy'],
    [
      refusal('cannot steer a compact turn', -32600, {
        codexErrorInfo: { activeTurnNotSteerable: { turnKind: 'compact' } },
      }),
      'thread_busy',
    ],
    [refusal('too long', -32600, { codexErrorInfo: 'contextWindowExceeded' }), 'context_window_exceeded'],
    [refusal('failed to load configuration: bad'), 'turn_refused'],
    [new Error('anything'), 'turn_refused'],
    ['text', 'turn_refused'],
    [null, 'turn_refused'],
  ])('%s is %s', (error, code) => {
    const classified = classifyRpcError(error, 'turn_refused');
    expect(classified).toBeInstanceOf(AttemptError);
    expect(classified.code).toBe(code);
    expect(classified.cause).toBe(error);
  });

  it('leaves an error of ours as it is', () => {
    const error = new AttemptError('app_server_exited', 'gone');
    expect(classifyRpcError(error, 'turn_refused')).toBe(error);
  });

  it('takes secrets out of the words', () => {
    expect(classifyRpcError(refusal('bad key sk-abcdefghijklmnop'), 'thread_failed').message).toBe(
      'bad key [redacted]',
    );
  });
});

describe('isStaleThread', () => {
  const OURS = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
  const OTHER = '0199aaaa-bbbb-7ccc-8ddd-ffffffffffff';
  const PARSE = 'invalid session id: invalid character: expected an optional prefix of `urn:uuid:`, found `g` at 1';

  it.each<[string, unknown, string, boolean]>([
    ['no rollout of ours', refusal(`no rollout found for thread id ${OURS}`), OURS, true],
    ['ours not found', refusal(`thread not found: ${OURS}`), OURS, true],
    ['not found, no id named', refusal('thread not found'), OURS, true],
    ['invalid, ours named', refusal(`invalid session id: ${OURS}`), OURS, true],
    ['a stored id of a wrong form', refusal(PARSE), 'garbage', true],
    ['no rollout of another', refusal(`no rollout found for thread id ${OTHER}`), OURS, false],
    ['no rollout, no id named', refusal('no rollout found for thread id'), OURS, false],
    ['an id that only begins like ours', refusal(`no rollout found for thread id ${OURS}0`), OURS, false],
    ['another not found', refusal(`thread not found: ${OTHER}`), OURS, false],
    ['invalid, another named', refusal(`invalid session id: ${OTHER}`), OURS, false],
    ['another named for an id of a wrong form', refusal(`invalid session id: ${OTHER}`), 'garbage', false],
    ['invalid, but ours is of a good form', refusal(PARSE), OURS, false],
    ['an active writer', refusal(`thread ${OURS} already has an active writer`), OURS, false],
    ['a configuration error', refusal('failed to load configuration: thread not found'), OURS, false],
    [
      'a closed connection',
      new AttemptError('app_server_exited', `no rollout found for thread id ${OURS}`),
      OURS,
      false,
    ],
    ['silence', new AttemptError('request_timeout', 'thread not found'), OURS, false],
    ['a plain error', new Error('thread not found'), OURS, false],
    ['nothing', null, OURS, false],
  ])('%s: %s', (_name, error, threadId, expected) => {
    expect(isStaleThread(error, threadId)).toBe(expected);
  });
});
