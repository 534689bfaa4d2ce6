import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { defaultBudgets } from '../../machines/index.ts';
import { runAttempt } from '../attempt/run-attempt.ts';
import type { AttemptResult, AttemptRunEvent } from '../attempt/types.ts';
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
import { parseFlags } from './flags.ts';
import { type CliIo, writeOut } from './io.ts';
import { loadPlugins, type Plugins } from './plugins.ts';
import { createProgress, type Progress } from './progress.ts';
import { readPrompt } from './prompt.ts';
import { eventLine, refusedRun } from './run-events.ts';
import { type RunOptions, readRunOptions } from './run-options.ts';
import type { StopSignals } from './signals.ts';
import { type Stop, watchForStop } from './stop.ts';
import { shownOn } from './terminal.ts';

/** What a run works with once its services are open. */
interface Running {
  io: CliIo;
  options: RunOptions;
  opened: OpenedServices;
  progress: Progress;
  stop: Stop;
}

/** `codex-attempt run`: one attempt. Rejects with AttemptError when it is refused before it starts. */
export async function run(argv: readonly string[], io: CliIo, onStopSignal: StopSignals): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, RUN_FLAGS, 'run');
  const stop = watchForStop(io, onStopSignal, (code) => process.exit(code));
  let sessionFile = '';
  try {
    const options = await readRunOptions(io, flags);
    sessionFile = options.sessionFile;
    const prompt = await readPrompt(io, words, stop.signal);
    return await runWith(io, options, prompt, stop);
  } catch (error) {
    const refusal = stop.signal.aborted ? new AttemptError('aborted', 'stopped before the attempt began') : error;
    if (flags.json === true) await writeOut(io.stdout, `${JSON.stringify(refusedRun(refusal, sessionFile))}\n`);
    throw refusal;
  } finally {
    stop.release();
  }
}

async function runWith(io: CliIo, options: RunOptions, prompt: string, stop: Stop): Promise<ExitCode> {
  const onTerminal = io.stderr.isTTY === true;
  const logger = createLogger({ level: options.settings.logLevel, pretty: onTerminal });
  const progress = createProgress({
    stderr: io.stderr,
    env: io.env,
    mode: options.quiet ? 'none' : options.progress ? 'lines' : onTerminal ? 'status' : 'none',
    quiet: options.quiet,
    clock: systemClock,
  });
  const plugins = await loadPlugins(options.settings, logger);
  for (const name of plugins.unknownHooks) progress.warn(`there is no hook ${name}: it is never called`);
  try {
    const attemptId = randomUUID();
    const opened = await openServices(io, options, attemptId, plugins, logger, progress);
    try {
      if (options.rehearsal === null) await checkCodex(opened, progress, stop.signal);
      const running = { io, options, opened, progress, stop };
      const result = await runToEnd(running, { attemptId, prompt });
      await conclude(running, result);
      const isSaved = await saveText(options, result, progress);
      if (stop.signalled) return EXIT.aborted;
      const code = exitOfResult(result);
      return code === EXIT.ok && !isSaved ? EXIT.failed : code;
    } finally {
      progress.end();
      await closeAll(opened);
    }
  } finally {
    await plugins.dispose();
  }
}

async function openServices(
  io: CliIo,
  options: RunOptions,
  attemptId: string,
  plugins: Plugins,
  logger: Logger,
  progress: Progress,
): Promise<OpenedServices> {
  const { settings, traceFile } = options;
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
    ...(options.rehearsal === null ? {} : { rehearsal: options.rehearsal }),
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
  const { io, options, opened, progress, stop } = running;
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
    if (options.json) io.stdout.write(eventLine(event));
    tell(event, options, progress);
  });
  stop.attach({ abort: () => handle.abort(), kill: () => opened.kill(), said: (text) => progress.note(text) });
  return await handle.result;
}

/** What of an event a person is told on stderr. */
function tell(event: Exclude<AttemptRunEvent, AttemptResult>, options: RunOptions, progress: Progress): void {
  switch (event.type) {
    case 'attempt.started':
      if (options.isNewSession) progress.note(`session: ${event.sessionFile}`);
      return;
    case 'attempt.state':
      progress.state(event.state);
      return;
    case 'attempt.notice':
      progress.warn(event.message);
      return;
    case 'attempt.degraded':
      progress.warn(`${event.state}: ${event.message} (${event.code})`);
      return;
    case 'turn.completed':
      if (event.usage !== null) progress.tokens(event.usage.input_tokens + event.usage.output_tokens);
      return;
    case 'error':
      if (event.will_retry) progress.warn(`Codex tries again: ${event.message}`);
      return;
    default:
      return;
  }
}

/**
 * Prints the end. Everything is closed by then, so that whoever waits for it can use the session at once, unless the
 * engine still maintains itself in the background: then it is printed first and the work is waited for (spec D4).
 */
async function conclude({ io, options, opened, progress, stop }: Running, result: AttemptResult): Promise<void> {
  const lane = maintenanceLane(opened.services.session.transcript.sessionFile);
  const isIdle = await lane.idle(0, systemClock);
  if (isIdle) await closeAll(opened);
  progress.end();
  if (options.json) await writeOut(io.stdout, eventLine(result));
  else if (result.text !== '')
    await writeOut(io.stdout, shownOn(io.stdout, result.text.endsWith('\n') ? result.text : `${result.text}\n`));
  // Whoever closed the pipe knows why it ended.
  if (!stop.unread) explain(result, progress);
  if (!isIdle && !(await lane.idle(defaultBudgets.maintain, systemClock))) {
    progress.warn('the engine did not finish its maintenance in time');
  }
}

/** Says on stderr why it did not end well. */
function explain(result: AttemptResult, progress: Progress): void {
  if (result.deniedApprovals.length > 0) {
    progress.warn(`denied, because nobody was there to approve: ${result.deniedApprovals.join(', ')} (see --sandbox)`);
  }
  if (result.error !== undefined) {
    const hint = result.error.code === 'budget_execution' ? '; --timeout sets it' : '';
    progress.error(`${result.error.message}${hint} (${result.error.code})`);
  } else if (result.outcome === 'aborted') {
    progress.note(result.text === '' ? 'aborted' : 'aborted; the answer is partial');
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
