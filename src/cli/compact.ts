import { type CompactionResult, compactSession } from '../compact-session.ts';
import { COMPACT_FLAGS } from './command-flags.ts';
import { type CompactionSoFar, compactionEndedBy, newCompaction, noteCompactionEvent } from './compact-events.ts';
import { type CompactOptions, namedSession, readCompactOptions } from './compact-options.ts';
import { tellCompaction } from './compact-tell.ts';
import { eventLine } from './event-line.ts';
import { type ExitCode, exitOfCompaction } from './exit.ts';
import { asksFor, parseFlags, usageError } from './flags.ts';
import type { GuardedIo } from './io.ts';
import { abortWhenStopped, conclude, type SessionWork, stoppable, withServices } from './session-work.ts';
import type { StopSignals } from './signals.ts';
import { tell } from './tell.ts';

/**
 * `codex-attempt compact`: one explicit compaction of a session (spec 8). Rejects when it is refused before it begins;
 * the caller prints `guard.lastLine` of the error then. Stdin is not read.
 */
export async function compact(argv: readonly string[], io: GuardedIo, onStopSignal: StopSignals): Promise<ExitCode> {
  const soFar = newCompaction();
  io.guard.lastLine = asksFor(argv, '--json') ? (error) => eventLine(compactionEndedBy(error, soFar)) : null;
  return await stoppable(io, onStopSignal, 'compaction', async (command) => {
    const { flags, words } = parseFlags(argv, COMPACT_FLAGS, 'compact');
    soFar.sessionFile = namedSession(io, flags);
    if (words[0] !== undefined) throw usageError(`unexpected argument ${JSON.stringify(words[0])}`, 'compact');
    const options = await readCompactOptions(io, flags);
    return await withServices(command, options, async (work) => {
      const { opened, plugins, progress, signal } = work;
      soFar.ownsCompaction = plugins.engine?.info.ownsCompaction === true;
      if (options.instructions !== null && !soFar.ownsCompaction) {
        progress.warn('--instructions are not used: there is no engine that owns compaction, and Codex takes none');
      }
      // A file that is no session is found out before anything is made beside it. Codex is not asked for here: an
      // engine that owns compaction may have no need of it.
      await opened.services.session.transcript.read(signal);
      const result = await compactToEnd(work, soFar);
      return await conclude(work, result, {
        text: (told) => (options.json ? eventLine(told) : null),
        explain: (told, isFaultTold) => {
          // Its success is on stdout then.
          if (!(options.json && told.error === undefined && told.ok)) tellCompaction(told, isFaultTold, progress);
        },
        exitOf: exitOfCompaction,
      });
    });
  });
}

/** Runs the compaction and tells what happens; `compaction.settled` is left to the end. */
async function compactToEnd(work: SessionWork<CompactOptions>, soFar: CompactionSoFar): Promise<CompactionResult> {
  const { io, options, attemptId, opened, progress } = work;
  const { model, sandbox, tokenBudget } = options.settings;
  const handle = compactSession(
    {
      attemptId,
      cwd: options.cwd,
      ...(model === undefined ? {} : { model }),
      // After the user's: a rehearsal has a model of its own.
      ...opened.params,
      ...(sandbox === undefined ? {} : { sandbox }),
      ...(tokenBudget === undefined ? {} : { tokenBudget }),
      ...(options.timeoutMs === null ? {} : { budgets: { compact: options.timeoutMs } }),
      ...(options.instructions === null ? {} : { customInstructions: options.instructions }),
    },
    opened.services,
  );
  handle.onEvent((event) => {
    if (event.type === 'compaction.settled') return;
    noteCompactionEvent(soFar, event);
    if (options.json) io.stdout.write(eventLine(event));
    tell(event, false, progress);
  });
  abortWhenStopped(work, 'compaction', handle);
  const result = await handle.result;
  soFar.result = result;
  return result;
}
