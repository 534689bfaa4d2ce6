import type { CompactionReport } from '../attempt/types.ts';
import type { CompactionResult } from '../compact-session.ts';
import type { Progress } from './progress.ts';

/** Says on stderr what the compaction came to, in one line. `isFaultTold`: its error has been said. */
export function tellCompaction(
  result: CompactionResult,
  isFaultTold: boolean,
  progress: Pick<Progress, 'note' | 'error'>,
): void {
  const beside = result.primary === 'engine' ? nativeBeside(result) : null;
  const more = beside === null ? '' : `; ${beside}`;
  const { error } = result;
  if (error === undefined) {
    const isDone = result.outcome === 'completed' || result.ok;
    const how = result.outcome === 'aborted' ? ['aborted'] : [];
    progress.note(`${[...how, ...(isDone ? [primaryText(result)] : [])].join('; ')}${more}`);
  } else if (!isFaultTold) {
    const { code, message } = error;
    const whose = result.details.contextEngineCompaction?.ok === false ? "the engine's compaction failed: " : '';
    const way = WAYS_OUT[code];
    const text = way === undefined ? message : `${message.replace(/\.$/, '')}; ${way}`;
    progress.error(`${whose}${text} (${code})${more}`);
  }
}

/** What a person can do about a failure whose message does not say it. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  thread_missing: '`run` a prompt on it first (with --rehearse if this is a rehearsal)',
  thread_stale: 'the next `run` starts a new thread with the context',
  thread_busy: 'try again when that turn has ended',
  budget_compact: '--timeout sets it',
  unauthorized: 'log in anew with `codex login`, or set CODEX_API_KEY',
  http_failed: 'the thread is as it was: try again',
  stream_lost: 'the thread is as it was: try again',
  server_overloaded: 'the thread is as it was: try again later',
  rate_limit_exceeded: 'the thread is as it was: try again later',
};

function primaryText(result: CompactionReport): string {
  const reason = result.reason === null ? '' : ` (${result.reason})`;
  if (result.primary === 'native') return `Codex compacted the native thread${tokensText(result)}`;
  if (!result.compacted) return `the engine had nothing to compact${reason}`;
  return `the engine compacted the session${tokensText(result)}${reason}`;
}

/** What became of the native thread beside the engine's compaction; null: it was not come to. */
function nativeBeside({ details }: CompactionReport): string | null {
  const native = details.codexNativeCompaction;
  if (native === undefined || native.reason === 'not_attempted') return null;
  if (native.compacted) {
    return `Codex compacted the native thread${tokensText({ tokensBefore: null, tokensAfter: native.tokensAfter ?? null })}`;
  }
  const { reason, message = reason } = native;
  return `the native thread was not compacted: ${message} (${reason})`;
}

function tokensText({ tokensBefore, tokensAfter }: Pick<CompactionReport, 'tokensBefore' | 'tokensAfter'>): string {
  if (tokensBefore !== null && tokensAfter !== null) return `: ${tokensBefore} → ${tokensAfter} tokens`;
  if (tokensAfter !== null) return `: ${tokensAfter} tokens now`;
  return tokensBefore === null ? '' : `: ${tokensBefore} tokens before`;
}
