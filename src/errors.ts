/**
 * The one error class of this package. `code` is one of a closed list, documented in the README; `message` is a
 * sentence for a person that names the input and the way out. Errors of the wire are RpcError (src/codex/errors.ts).
 */
export const ERROR_CODES = [
  // input (exit 2)
  'usage',
  'prompt_empty',
  'prompt_too_large',
  'engine_not_found',
  'engine_invalid',
  'engine_requirements',
  'hooks_invalid',
  'tools_invalid',
  'session_not_a_file',
  'session_unreadable',
  'session_invalid',
  // session (exit 1, or 4 for `show`, `reset`, `compact`)
  'session_busy',
  'session_not_found',
  'session_write_failed',
  // codex
  'codex_not_found',
  'codex_too_old',
  'codex_crashed',
  'codex_no_credentials',
  'app_server_exited',
  'app_server_silent',
  'app_server_not_ready',
  'request_timeout',
  'too_many_requests',
  // thread and turn
  'thread_stale',
  'thread_busy',
  'thread_failed',
  'turn_refused',
  'turn_failed',
  'turn_lost',
  'turn_unanswered',
  'interrupted_elsewhere',
  'context_window_exceeded',
  'usage_limit_exceeded',
  'rate_limit_exceeded',
  'server_overloaded',
  'model_not_found',
  'unauthorized',
  'http_failed',
  'stream_lost',
  'policy',
  'invalid_image',
  // the attempt's own
  'tools_failed',
  'engine_failed',
  'engine_bad_result',
  'engine_suspended',
  'projection_failed',
  'hook_failed',
  'mirror_failed',
  'finalize_failed',
  'maintain_failed',
  'compaction_failed',
  'recovery_failed',
  'aborted',
  'internal',
  // budgets that ran out
  'budget_store',
  'budget_bootstrap',
  'budget_assemble',
  'budget_hooks',
  'budget_threadStart',
  'budget_execution',
  'budget_mirror',
  'budget_finalize',
  'budget_maintain',
  'budget_compact',
  'budget_graceMirror',
  'budget_graceFinalize',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

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
  if (error instanceof Error) return error.message;
  if (typeof error === 'string') return error;
  if (typeof error === 'object' && error !== null && typeof (error as { message?: unknown }).message === 'string') {
    return (error as { message: string }).message;
  }
  return String(error);
}
