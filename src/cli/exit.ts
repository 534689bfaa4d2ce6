import type { AttemptResult } from '../attempt/types.ts';
import type { CompactionResult } from '../compact-session.ts';
import { type ErrorCode, isAttemptError } from '../errors.ts';

/** The exit codes of `codex-attempt` (design 6). Changing one is a breaking change. */
export const EXIT = {
  /** Completed or yielded; compacted, or nothing to compact. */
  ok: 0,
  /** The attempt failed, what it needs is missing, stdout cannot be written, or code of others ended or broke the run. */
  failed: 1,
  /** The command line or what it names is wrong; nothing was written. */
  usage: 2,
  /** What `--timeout` bounds took longer: the turn, or a compaction of `compact`. */
  timeout: 3,
  /** `show`, `reset`, `compact`: there is no such session. */
  noSession: 4,
  /** A denied approval ended the turn. */
  denied: 5,
  /** Aborted, ended by a signal, or nobody reads stdout any more. */
  aborted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const CODES: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  usage: EXIT.usage,
  prompt_empty: EXIT.usage,
  prompt_too_large: EXIT.usage,
  engine_not_found: EXIT.usage,
  engine_invalid: EXIT.usage,
  engine_requirements: EXIT.usage,
  hooks_invalid: EXIT.usage,
  tools_invalid: EXIT.usage,
  session_not_a_file: EXIT.usage,
  session_unreadable: EXIT.usage,
  session_invalid: EXIT.usage,
  session_not_found: EXIT.noSession,
  budget_execution: EXIT.timeout,
  budget_compact: EXIT.timeout,
  aborted: EXIT.aborted,
};

/** The exit code of an error code; 1 for everything that has none of its own. */
export function exitOfCode(code: string): ExitCode {
  return (CODES as Readonly<Record<string, ExitCode | undefined>>)[code] ?? EXIT.failed;
}

/** The exit code of anything that was thrown. */
export function exitOfError(error: unknown): ExitCode {
  return isAttemptError(error) ? exitOfCode(error.code) : EXIT.failed;
}

/** The exit code of a settled attempt. A denied approval ends a turn when Codex interrupts it on its own after one. */
export function exitOfResult(result: AttemptResult): ExitCode {
  switch (result.outcome) {
    case 'completed':
    case 'yielded':
      return EXIT.ok;
    case 'aborted':
      return EXIT.aborted;
    case 'failed':
      if (result.error?.code === 'interrupted_elsewhere' && result.deniedApprovals.length > 0) return EXIT.denied;
      return exitOfCode(result.error?.code ?? 'internal');
  }
}

/** The exit code of a settled compaction. A native one that failed beside the engine's costs nothing. */
export function exitOfCompaction({ outcome, error }: CompactionResult): ExitCode {
  if (outcome === 'failed') return exitOfCode(error?.code ?? 'internal');
  return outcome === 'aborted' ? EXIT.aborted : EXIT.ok;
}
