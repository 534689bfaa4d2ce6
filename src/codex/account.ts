import { AttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { AppServer, CodexClient } from '../ports.ts';
import { isRpcError } from './errors.ts';
import { isJsonObject } from './jsonl.ts';

/** Configuration under which a login with a key lives in the process alone and is stored nowhere. */
const EPHEMERAL_CREDENTIALS = { cli_auth_credentials_store: '"ephemeral"' } as const;

export interface AccountOptions {
  /** An app-server with the user's configuration and these overrides on top. Called at most twice. */
  start(configOverrides: Readonly<Record<string, string>>): AppServer;
  /** Used instead of the stored login. */
  codexApiKey?: string;
  /** Used when there is no stored login: it may be in the environment for other programs. */
  openaiApiKey?: string;
}

/**
 * An app-server that hands out only clients that can ask a model. The app-server takes no key from its environment
 * (0.171.0), so a key is given to it with `account/login/start`, in memory only: with the ephemeral store it also does
 * not see a stored login, so that store is used only when a key is. Providers that need no OpenAI login pass.
 * `connect` rejects with AttemptError `codex_no_credentials` too.
 */
export function withAccount(options: AccountOptions): AppServer {
  let key = options.codexApiKey;
  let server = options.start(key === undefined ? {} : EPHEMERAL_CREDENTIALS);
  const ready = new WeakSet<CodexClient>();

  async function connectNow(signal: AbortSignal): Promise<CodexClient> {
    const client = await server.connect(signal);
    if (ready.has(client) || !(await lacksLogin(client, signal))) {
      ready.add(client);
      return client;
    }
    if (key !== undefined) {
      await loginWith(client, key, signal);
      ready.add(client);
      return client;
    }
    if (options.openaiApiKey === undefined) throw noCredentials('nobody is logged in', client);
    key = options.openaiApiKey;
    await server.close();
    server = options.start(EPHEMERAL_CREDENTIALS);
    return await connectNow(signal);
  }

  // One at a time: the second must not log in on a client that the first is about to close.
  let last: Promise<unknown> = Promise.resolve();
  function connect(signal: AbortSignal): Promise<CodexClient> {
    const next = last.then(() => connectNow(signal));
    last = next.then(
      () => undefined,
      () => undefined, // told to the one who asked
    );
    return next;
  }

  return { connect, close: () => server.close() };
}

async function loginWith(client: CodexClient, apiKey: string, signal: AbortSignal): Promise<void> {
  try {
    await client.request('account/login/start', { type: 'apiKey', apiKey }, { signal });
  } catch (error) {
    // The app-server says why it does not take the key.
    if (isRpcError(error)) throw noCredentials(redact(messageOf(error)), client);
    throw error;
  }
}

/** What `account/read` says: whether the provider in use wants an OpenAI login that is not there. */
async function lacksLogin(client: CodexClient, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.request('account/read', {}, { signal });
    return isJsonObject(answer) && answer['account'] === null && answer['requiresOpenaiAuth'] === true;
  } catch (error) {
    // A damaged auth.json is refused here.
    if (isRpcError(error)) throw noCredentials(redact(messageOf(error)), client);
    throw error;
  }
}

/** `data.version`: the codex that was asked. */
function noCredentials(reason: string, { version }: CodexClient): AttemptError {
  return new AttemptError(
    'codex_no_credentials',
    `Codex has no usable credentials (${reason}): run \`codex login\`, or set CODEX_API_KEY, or try it without an account with --rehearse`,
    { data: { version } },
  );
}
