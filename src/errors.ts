/** Every error code and what it means. Removing or renaming one is a breaking change. */
export const ERROR_MEANINGS = {
  usage: 'the command line, a setting or a parameter is wrong',
  prompt_empty: 'the prompt is empty',
  prompt_too_large: 'the prompt is over the input limit of Codex',
  engine_not_found: 'there is no such engine module',
  engine_invalid: 'the module is no engine, or not a whole one',
  engine_requirements: 'the engine needs what this host does not offer',
  hooks_invalid: 'the hooks module is missing or broken',
  tools_invalid: 'the tools module is missing or broken',
  session_not_a_file: 'the session path is a folder or a device',
  session_unreadable: 'the session file cannot be read',
  session_invalid: 'the file is not a session',
  session_busy: 'another run has the session',
  session_not_found: 'there is no such session',
  session_write_failed: 'the session or what it keeps beside it could not be written',
  codex_not_found: 'there is no codex binary',
  codex_too_old: 'the codex binary is older than supported',
  codex_crashed: 'codex app-server ended before it was ready',
  codex_no_credentials: 'nobody is logged in and there is no key',
  app_server_exited: 'codex app-server ended while it was needed',
  app_server_silent: 'codex app-server did not answer initialize',
  app_server_not_ready: 'codex app-server could not be started',
  request_timeout: 'codex app-server did not answer a request',
  too_many_requests: 'codex app-server refused a request because of its queue',
  thread_missing: 'no native thread is bound to the session',
  thread_stale: 'the native thread is gone, also after one fresh try',
  thread_busy: 'a turn is still running on the native thread',
  thread_failed: 'the native thread could not be started or resumed',
  turn_refused: 'turn/start was refused',
  turn_failed: 'the turn failed for a reason without a code of its own',
  turn_lost: 'the turn ended without saying how',
  turn_unanswered: 'the turn did not start or stop in time; its process was ended',
  interrupted_elsewhere: 'the turn was interrupted, and not by this attempt',
  context_window_exceeded: 'the request was larger than the context window of the model',
  usage_limit_exceeded: 'the usage limit of the account is reached',
  rate_limit_exceeded: 'too many requests to the model',
  server_overloaded: 'the model is overloaded',
  model_not_found: 'there is no such model',
  unauthorized: 'the provider does not accept the credentials',
  http_failed: 'the provider answered with an HTTP error',
  stream_lost: 'the answer of the model broke off',
  policy: 'the provider refused for reasons of policy',
  invalid_image: 'the provider could not read an image',
  tools_failed: 'the tools cannot be offered',
  engine_failed: 'the engine threw',
  engine_bad_result: 'the engine answered something else than asked for',
  engine_suspended: 'queued turns could not be handed to the engine, so it was left out of this attempt',
  projection_failed: 'the assembled context could not be turned into prompt text',
  hook_failed: 'a hook threw',
  mirror_failed: 'the rows of the turn could not be written',
  finalize_failed: 'the engine was not told of the turn',
  maintain_failed: 'the engine did not maintain itself',
  compaction_failed: 'the compaction failed',
  recovery_failed: 'it is not known what became of a turn that a crash left open',
  aborted: 'the attempt was aborted',
  internal: 'a fault of this program',
  budget_store: 'reading or writing the session took too long',
  budget_bootstrap: 'the engine took too long to bootstrap',
  budget_assemble: 'the engine took too long to assemble',
  budget_hooks: 'a hook took too long',
  budget_threadStart: 'the native thread took too long to start',
  budget_execution: 'the turn ran longer than allowed (`--timeout`)',
  budget_mirror: 'writing the rows took too long',
  budget_finalize: 'the finalizer took too long',
  budget_maintain: 'maintenance took too long',
  budget_compact: 'the compaction took too long (`budgets.compact`; `--timeout` of `compact`)',
  budget_graceMirror: 'the rows were not written in the short time left after an abort',
  budget_graceFinalize: 'the finalizer did not end in the short time left after an abort',
} as const;

export type ErrorCode = keyof typeof ERROR_MEANINGS;

export const ERROR_CODES = Object.keys(ERROR_MEANINGS) as readonly ErrorCode[];

/**
 * The one error class of this package. `code` is one of `ERROR_MEANINGS`; `message` is a sentence for a person that
 * names the input and the way out. Errors of the wire are RpcError (src/codex/errors.ts).
 */
export class AttemptError extends Error {
  override readonly name = 'AttemptError';
  readonly code: ErrorCode;
  /** JSON-safe facts: the limit, the path, the version. Never text of the user or of the model. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; data?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data ?? {};
  }

  toJSON(): { name: string; code: ErrorCode; message: string; data: Readonly<Record<string, unknown>> } {
    return { name: this.name, code: this.code, message: this.message, data: this.data };
  }
}

export function isAttemptError(error: unknown): error is AttemptError {
  return error instanceof AttemptError;
}

/** A sentence from anything that was thrown. Total. Not redacted: pass it through `redact` before it is shown. */
export function messageOf(error: unknown): string {
  try {
    if (typeof error === 'object' && error !== null) {
      const { message } = error as { message?: unknown };
      if (typeof message === 'string') return message;
    }
    return String(error);
  } catch {
    // Anything can be thrown: an object without a prototype, one whose getters throw.
    return `a thrown ${typeof error} that cannot be shown`;
  }
}
