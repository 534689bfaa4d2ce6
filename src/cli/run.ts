import { writeFile } from 'node:fs/promises';
import { runAttempt } from '../attempt/run-attempt.ts';
import type { AttemptResult } from '../attempt/types.ts';
import { messageOf } from '../errors.ts';
import { RUN_FLAGS } from './command-flags.ts';
import { eventLine } from './event-line.ts';
import { type ExitCode, exitOfResult } from './exit.ts';
import { asksFor, parseFlags } from './flags.ts';
import type { GuardedIo } from './io.ts';
import type { Progress } from './progress.ts';
import { readPrompt } from './prompt.ts';
import { endedBy, newRun, noteEvent, type RunSoFar } from './run-events.ts';
import { type RunOptions, readRunOptions } from './run-options.ts';
import { abortWhenStopped, conclude, type SessionWork, stoppable, withServices } from './session-work.ts';
import type { StopSignals } from './signals.ts';
import { explain, tell } from './tell.ts';
import { shownOn } from './terminal.ts';

/**
 * `codex-attempt run`: one attempt. Rejects when it is refused before it starts; the caller prints `guard.lastLine` of
 * the error then.
 */
export async function run(argv: readonly string[], io: GuardedIo, onStopSignal: StopSignals): Promise<ExitCode> {
  const soFar = newRun();
  io.guard.lastLine = asksFor(argv, '--json') ? (error) => eventLine(endedBy(error, soFar)) : null;
  return await stoppable(io, onStopSignal, 'attempt', async (command) => {
    const { flags, words } = parseFlags(argv, RUN_FLAGS, 'run');
    const options = await readRunOptions(io, flags);
    soFar.sessionFile = options.sessionFile;
    const prompt = await readPrompt(io, words, command.signal);
    return await withServices(command, options, async (work) => {
      if (options.rehearsal === null) await checkCodex(work);
      const result = await runToEnd(work, prompt, soFar);
      return await conclude(work, result, {
        text: (told) => (options.json ? eventLine(told) : shownOn(io.stdout, answerOf(told))),
        keep: () => saveText(options, result, work.progress),
        explain: (told, isFaultTold) => explain(told, isFaultTold, work.progress),
        exitOf: exitOfResult,
      });
    });
  });
}

/** A session that is none, and a Codex that cannot work, are found out before the engine hears of this attempt. */
async function checkCodex({ opened, signal }: SessionWork): Promise<void> {
  const { session, appServer } = opened.services;
  await session.transcript.read(signal);
  await appServer.connect(signal);
}

/** Runs the attempt and tells what happens; `attempt.settled` is left to the end. */
async function runToEnd(work: SessionWork<RunOptions>, prompt: string, soFar: RunSoFar): Promise<AttemptResult> {
  const { io, options, attemptId, opened, progress, signal } = work;
  const { model, sandbox, tokenBudget, timeout } = options.settings;
  const handle = runAttempt(
    {
      attemptId,
      prompt,
      cwd: options.cwd,
      ...(model === undefined ? {} : { model }),
      // After the user's: a rehearsal has a model of its own.
      ...opened.params,
      ...(sandbox === undefined ? {} : { sandbox }),
      ...(tokenBudget === undefined ? {} : { tokenBudget }),
      ...(timeout === undefined ? {} : { budgets: { execution: timeout } }),
    },
    opened.services,
  );
  handle.onEvent((event) => {
    if (event.type === 'attempt.settled') return;
    noteEvent(soFar, event);
    if (options.json) io.stdout.write(eventLine(event));
    // What a stop cuts short has not failed.
    if (!(signal.aborted && event.type === 'item.completed')) tell(event, options.isNewSession, progress);
  });
  abortWhenStopped(work, 'attempt', handle);
  const result = await handle.result;
  soFar.result = result;
  return result;
}

function answerOf({ text }: AttemptResult): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** False when the file of `--output-last-message` could not be written. */
async function saveText(options: RunOptions, result: AttemptResult, progress: Progress): Promise<boolean> {
  if (options.outputFile === null) return true;
  try {
    await writeFile(options.outputFile, result.text, { mode: 0o600 });
    return true;
  } catch (error) {
    progress.error(`--output-last-message: ${messageOf(error)}`);
    return false;
  }
}
