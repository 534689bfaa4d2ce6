/** Decides by its name whether a variable, header or JSON key holds a secret. */

/** Last words of a name that make it secret. Plurals are counts (`inputTokens`) and are not. */
const SECRET_WORDS = new Set([
  'token',
  'secret',
  'password',
  'passwd',
  'pwd',
  'passphrase',
  'authorization',
  'credential',
  'credentials',
  'apikey',
  'accesskey',
  'secretkey',
  'privatekey',
  'authtoken',
  'accesstoken',
  'refreshtoken',
]);

/** Words before `key` that make it secret: `apiKey`, `x-api-key`, `secret_access_key`. */
const SECRET_KEYS = new Set([
  'api',
  'access',
  'secret',
  'private',
  'signing',
  'encryption',
  'auth',
  'master',
  'service',
  'account',
  'storage',
  'subscription',
  'license',
  'deploy',
  'client',
]);

/** Words before `KEY` in names of environment variables that do not make it secret. */
const PLAIN_KEYS = new Set(['idempotency', 'advancement', 'session', 'public', 'cache', 'primary', 'foreign', 'sort']);

/**
 * `apiKey`, `OPENAI_API_KEY`, `x-auth-token`, `db.password`: yes. `idempotencyKey`, `sessionKey`, `maxTokens`: no. A bare
 * `key` is a secret only where it is assigned with `=`, which is `sign`.
 */
export function isSecretName(name: string, sign = ''): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_.-]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  const before = words.at(-2);
  if (SECRET_WORDS.has(last)) return true;
  if (last === 'pass') return before !== undefined;
  if (last !== 'key') return false;
  if (before === undefined) return sign === '=';
  if (SECRET_KEYS.has(before)) return true;
  return name === name.toUpperCase() && !PLAIN_KEYS.has(before);
}
