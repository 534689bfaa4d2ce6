import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { defaultBudgets } from '../../machines/index.ts';
import { runAttempt } from '../attempt/run-attempt.ts';
import type { AttemptResult } from '../attempt/types.ts';
import { compareVersions, TESTED_CODEX_VERSION } from '../codex/version.ts';
import { maintenanceLane } from '../engine/background.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { createLogger } from '../observe/log.ts';
import { createTrace } from '../observe/trace.ts';
import type { Logger } from '../ports.ts';
import { createServices, type OpenedServices } from '../services.ts';
import { systemClock } from '../system-clock.ts';
import { RUN_FLAGS } from './command-flags.ts';
import { apiKeys } from './config.ts';
import { EXIT, type ExitCode, exitOfResult } from './exit.ts';
import { asksFor, parseFlags } from './flags.ts';
import { type GuardedIo, writeOut } from './io.ts';
import { loadPlugins, type Plugins } from './plugins.ts';
import { createProgress, type Progress } from './progress.ts';
import { readPrompt } from './prompt.ts';
import { openRequestRecord, type RequestRecord } from './request-record.ts';
import { endedBy, eventLine, newRun, noteEvent, type RunSoFar } from './run-events.ts';
import { type RunOptions, readRunOptions } from './run-options.ts';
import type { StopSignals } from './signals.ts';
import { type Stop, watchForStop } from './stop.ts';
import { explain, tell } from './tell.ts';
import { shownOn } from './terminal.ts';

/** What a run works with from its beginning. */
interface Run {
  io: GuardedIo;
  soFar: RunSoFar;
  stop: Stop;
  /** Aborts when the run shall end: a stop from outside, or a fault. */
  signal: AbortSignal;
}

/** What it works with once its services are open. */
interface Running extends Run {
  options: RunOptions;
  opened: OpenedServices;
  progress: Progress;
}

/**
 * `codex-attempt run`: one attempt. Rejects when it is refused before it starts; the caller prints `guard.lastLine` of
 * the error then.
 */
export async function run(argv: readonly string[], io: GuardedIo, onStopSignal: StopSignals): Promise<ExitCode> {
  const { guard } = io;
  const soFar = newRun();
  guard.lastLine = asksFor(argv, '--json') ? (error) => eventLine(endedBy(error, soFar)) : null;
  const stop = watchForStop(io, onStopSignal, () =>
    guard.exitNow(new AttemptError('aborted', 'ended at once by a second signal'), EXIT.aborted),
  );
  const signal = AbortSignal.any([stop.signal, guard.signal]);
  try {
    const { flags, words } = parseFlags(argv, RUN_FLAGS, 'run');
    const options = await readRunOptions(io, flags);
    soFar.sessionFile = options.sessionFile;
    const prompt = await readPrompt(io, words, signal);
    return await runWith({ io, soFar, stop, signal }, options, prompt);
  } catch (error) {
    if (guard.fault !== null) throw guard.fault;
    throw stop.signal.aborted ? new AttemptError('aborted', 'stopped before the attempt began') : error;
  } finally {
    stop.release();
  }
}

async function runWith(run: Run, options: RunOptions, prompt: string): Promise<ExitCode> {
  const { io, signal } = run;
  const onTerminal = io.stderr.isTTY === true;
  const logger = createLogger({ level: options.settings.logLevel, pretty: onTerminal });
  const progress = createProgress({
    stderr: io.stderr,
    env: io.env,
    mode: options.quiet ? 'none' : options.progress ? 'lines' : onTerminal ? 'status' : 'none',
    quiet: options.quiet,
    clock: systemClock,
  });
  io.guard.voice = { error: progress.error, warn: progress.warn, debug: (text) => logger.debug(text) };
  for (const warning of options.warnings) progress.warn(warning);
  const plugins = await loadPlugins({ settings: options.settings, logger, guard: io.guard, signal });
  for (const name of plugins.unknownHooks) progress.warn(`there is no hook ${name}: it is never called`);
  const recordTo = options.rehearsal?.recordTo ?? null;
  const record = recordTo === null ? null : openRequestRecord(recordTo, (message) => progress.warn(message));
  try {
    const attemptId = randomUUID();
    const opened = await openServices({ io, options, attemptId, plugins, logger, progress, record });
    try {
      if (options.rehearsal === null) await checkCodex(opened, progress, signal);
      const running = { ...run, options, opened, progress };
      return await conclude(running, await runToEnd(running, { attemptId, prompt }));
    } finally {
      progress.end();
      await closeAll(opened);
    }
  } finally {
    record?.close();
    await plugins.dispose();
  }
}

interface ServicesParts {
  io: GuardedIo;
  options: RunOptions;
  attemptId: string;
  plugins: Plugins;
  logger: Logger;
  progress: Progress;
  record: RequestRecord | null;
}

async function openServices(parts: ServicesParts): Promise<OpenedServices> {
  const { io, options, attemptId, plugins, logger, progress, record } = parts;
  const { settings, traceFile, rehearsal } = options;
  return await createServices({
    cwd: options.cwd,
    sessionFile: options.sessionFile,
    env: io.env,
    engine: plugins.engine,
    hooks: plugins.hooks,
    tools: plugins.tools,
    logger,
    clock: systemClock,
    keys: apiKeys(io),
    ...(settings.codexPath === undefined ? {} : { codexCommand: settings.codexPath }),
    ...(rehearsal === null
      ? {}
      : {
          rehearsal: {
            ...(rehearsal.script === undefined ? {} : { script: rehearsal.script }),
            ...(record === null ? {} : { recordTo: record.add }),
          },
        }),
    ...(traceFile === null
      ? {}
      : {
          trace: createTrace({
            file: traceFile,
            includeText: options.traceText,
            clock: systemClock,
            attemptId,
            onError: (message) => progress.warn(message),
          }),
        }),
  });
}

/** A session that is none, and a Codex that cannot work, are found out before the engine hears of this attempt. */
async function checkCodex(opened: OpenedServices, progress: Progress, signal: AbortSignal): Promise<void> {
  const { session, appServer } = opened.services;
  await session.transcript.read(signal);
  const { version } = await appServer.connect(signal);
  if (compareVersions(version, TESTED_CODEX_VERSION) > 0) {
    progress.warn(`codex ${version} is newer than ${TESTED_CODEX_VERSION}, the newest that was tested`);
  }
}

/** Runs the attempt and tells what happens; `attempt.settled` is left to the end. */
async function runToEnd(running: Running, attempt: { attemptId: string; prompt: string }): Promise<AttemptResult> {
  const { io, soFar, options, opened, progress, stop, signal } = running;
  const { model, sandbox, tokenBudget, timeout } = options.settings;
  const handle = runAttempt(
    {
      ...attempt,
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
  stop.attach({ abort: () => handle.abort(), kill: () => opened.kill(), said: (text) => progress.note(text) });
  const onFault = (): void => handle.abort();
  io.guard.signal.addEventListener('abort', onFault, { once: true });
  if (io.guard.signal.aborted) onFault();
  const result = await handle.result;
  soFar.result = result;
  return result;
}

/**
 * Prints the end and gives the exit code. Everything is closed by then, so that whoever waits for it can use the session
 * at once, unless the engine still maintains itself in the background: then it is printed first and the work is waited
 * for (spec D4).
 */
async function conclude(running: Running, result: AttemptResult): Promise<ExitCode> {
  const { io, options, opened, progress, stop } = running;
  const lane = maintenanceLane(opened.services.session.transcript.sessionFile);
  const isIdle = await lane.idle(0, systemClock);
  if (isIdle) await closeAll(opened);
  progress.end();
  const { fault } = io.guard;
  // The fault is why it was aborted.
  const told = fault === null ? result : { ...result, error: { code: fault.code, message: fault.message } };
  const output = await print(running, told);
  if (output instanceof Error) progress.error(output.message);
  const isSaved = await saveText(options, result, progress);
  const isUnread = stop.unread || output === 'unread';
  // Whoever closed the pipe knows why it ended.
  if (!isUnread) explain(told, fault !== null, progress);

  let code = exitOfResult(told);
  if (code === EXIT.ok && (!isSaved || output instanceof Error)) code = EXIT.failed;
  if (fault !== null) code = EXIT.failed;
  if (stop.signalled || isUnread) code = EXIT.aborted;
  io.guard.settle(code);
  if (!isIdle && !(await lane.idle(defaultBudgets.maintain, systemClock))) {
    progress.warn('the engine did not finish its maintenance in time');
  }
  return code;
}

/** Writes the outcome to stdout. Answers why it could not, when it was not for want of a reader. */
async function print({ io, options, stop }: Running, result: AttemptResult): Promise<'read' | 'unread' | Error> {
  const text = result.text === '' || result.text.endsWith('\n') ? result.text : `${result.text}\n`;
  try {
    const isRead = await writeOut(io.stdout, options.json ? eventLine(result) : shownOn(io.stdout, text));
    return stop.outputError ?? (isRead ? 'read' : 'unread');
  } catch (error) {
    return stop.outputError ?? (error instanceof Error ? error : new Error(messageOf(error)));
  }
}

async function closeAll(opened: OpenedServices): Promise<void> {
  await opened.close();
  await opened.services.trace?.close();
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
