import { describe, expect, it } from 'vitest';
import { redact } from '../../src/observe/redact.ts';
import { isSecretName } from '../../src/observe/secret-names.ts';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF_-123';
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/IBAAKCAQEA==\nabc\n-----END RSA PRIVATE KEY-----';

/** Text with a secret, and what must be left of it. */
const SECRETS: readonly (readonly [string, string])[] = [
  ['sent Bearer abc.def-123 to it', 'sent Bearer [redacted] to it'],
  ['BEARER abcdef==', 'BEARER [redacted]'],
  ['Basic dXNlcjpwYXNzMQ== was refused', 'Basic [redacted] was refused'],
  ['Incorrect key sk-proj-Ab_9-xyz given', 'Incorrect key [redacted] given'],
  ['(sk-live1234)', '([redacted])'],
  ['sk_live_0123456789abcdef', '[redacted]'],
  ['ghp_0123456789abcdefABCD', '[redacted]'],
  ['gho_0123456789abcdefABCD', '[redacted]'],
  ['github_pat_11ABCDEFG0123456789_abc', '[redacted]'],
  ['glpat-0123456789abcdef-_XY', '[redacted]'],
  ['xoxb-123456789012-abcdefABCDEF', '[redacted]'],
  ['AKIAIOSFODNN7EXAMPLE', '[redacted]'],
  ['AIzaSyA0123456789abcdefghijklmnopqrstuv', '[redacted]'],
  ['npm_0123456789abcdefghijABCD', '[redacted]'],
  ['hf_0123456789abcdefghijABCD', '[redacted]'],
  [`the token ${JWT}.`, 'the token [redacted].'],
  [`before ${PEM} after`, 'before [redacted] after'],
  [PEM.replaceAll('\n', '\\n'), '[redacted]'],
  [`cut ${PEM.slice(0, 50)}`, 'cut [redacted]'],
  [`two ${PEM} and ${PEM}!`, 'two [redacted] and [redacted]!'],
  ['OPENAI_API_KEY=abc123 node x', 'OPENAI_API_KEY=[redacted] node x'],
  ['KEY=abc', 'KEY=[redacted]'],
  ['MY_SIGNING_KEY="a b c"', 'MY_SIGNING_KEY="[redacted]"'],
  ['{"apiKey": "a\\"b", "n": 1}', '{"apiKey": "[redacted]", "n": 1}'],
  ['{\\"api_key\\":\\"abc\\",\\"n\\":1}', '{\\"api_key\\":\\"[redacted]\\",\\"n\\":1}'],
  ["{ 'client_secret' : 'abc' }", "{ 'client_secret' : '[redacted]' }"],
  ['api_key: abc', 'api_key: [redacted]'],
  ['x-api-key: abc, next', 'x-api-key: [redacted], next'],
  ['refreshToken => abc', 'refreshToken => [redacted]'],
  ['password=hunter2&user=me', 'password=[redacted]&user=me'],
  ['DB_PASS=1234', 'DB_PASS=[redacted]'],
  ['Authorization: Bearer short', 'Authorization: [redacted]'],
  ['authorization: Basic abc', 'authorization: [redacted]'],
  ['token: 123456', 'token: [redacted]'],
  ['{"secret":"cut off', '{"secret":"[redacted]'],
  ['https://me:pw@host.example/p?q=1', 'https://[redacted]@host.example/p?q=1'],
  ['postgres://u:p@ss@db/x', 'postgres://[redacted]@db/x'],
  ['https://host/?access_token=abc&x=1#f', 'https://host/?access_token=[redacted]&x=1#f'],
  ['codex-attempt:x:token=abc', 'codex-attempt:x:token=[redacted]'],
];

/** Text that must stay as it is. */
const PLAIN: readonly string[] = [
  '',
  'codex-app-server:01a22ea0-0cdd-7c02:01a22ea0-0d94:msg_sk-abcdefgh:assistant',
  '"idempotencyKey":"codex-app-server:t-1:u-1:i-1:assistant"',
  'token=codex-app-server:t-1:u-1:i-1:assistant',
  'codex-attempt:0a1b:prompt',
  'idempotencyKey: abc, sessionKey=agent:main',
  'IDEMPOTENCY_KEY=abc',
  'unknown key: foo',
  'maxTokens: 5, inputTokens=7, tokenBudget: 9',
  'Missing bearer or basic authentication in header',
  'a bearer token is needed',
  'risk-assessment, task-0123456789, desk-lamp',
  'https://host/a@b and http://host:8080/x',
  'npm_config_registry and hf_hub',
  'ENOENT: no such file or directory, open /a/b.json',
  'the author: Jane, key points: three',
];

describe('redact', () => {
  it.each(SECRETS)('takes the secret out of %j', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each(PLAIN)('leaves %j as it is', (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([...SECRETS.map(([text]) => text), SECRETS.map(([text]) => text).join(' \n')])(
    'changes nothing a second time: %j',
    (text) => {
      const once = redact(text);
      expect(redact(once)).toBe(once);
    },
  );

  it('finds every kind in one text', () => {
    // A block that is cut off would swallow the text up to the end of a later block.
    const whole = SECRETS.filter(([text]) => !text.startsWith('cut '));
    expect(redact(whole.map(([text]) => text).join('\n'))).toBe(whole.map(([, expected]) => expected).join('\n'));
  });

  it.each([
    'a',
    ' ',
    'a ',
    'key ',
    'key=',
    'token: ',
    'a:',
    ':',
    '"',
    '\\"',
    "'",
    'token="',
    'token=\\"',
    'sk-',
    'eyJ',
    'eyJaaaaaaaa-',
    'eyJaaaaaaaa.',
    '-----BEGIN A KEY-----',
    '-----BEGIN A KEY-----x-----END ',
    '-----',
    '://',
    'a://b',
    '@://',
    'bearer ',
    'basic ',
    'basic aaaaaaaa',
    'codex-attempt:',
    'codex-attempt:a:',
    'codex-attempt:a:b=',
    'npm_',
    'npm_aaaa',
    '[redacted]',
    '\n',
    '{"',
    'aB',
    'a_',
    '.',
    '-',
  ])('takes time in proportion to the length for a text of %j', (unit) => {
    const timeOf = (length: number) => {
      const text = unit.repeat(Math.ceil(length / unit.length));
      const start = process.cpuUsage();
      redact(text);
      return process.cpuUsage(start).user / 1000;
    };
    timeOf(10_000);
    // A search in quadratic time needs minutes for a megabyte; this bound only tells the two apart.
    expect(timeOf(1_000_000)).toBeLessThan(5_000);
  });
});

describe('isSecretName', () => {
  it.each(['apiKey', 'OPENAI_API_KEY', 'MY_KEY', 'x-auth-token', 'db.password', 'clientSecret', 'Authorization'])(
    '%s holds a secret',
    (name) => {
      expect(isSecretName(name)).toBe(true);
    },
  );

  it.each(['idempotencyKey', 'sessionKey', 'key', 'prompt_cache_key', 'tokens', 'totalTokens', 'pass', 'keyboard', ''])(
    '%s holds none',
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );
});
