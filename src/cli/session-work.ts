import { randomUUID } from 'node:crypto';
import { defaultBudgets } from '../../machines/index.ts';
import type { AttemptFault } from '../attempt/types.ts';
import { compareVersions, TESTED_CODEX_VERSION } from '../codex/version.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { createLogger } from '../observe/log.ts';
import { createTrace } from '../observe/trace.ts';
import type { AppServer, Logger } from '../ports.ts';
import { createServices, type OpenedServices } from '../services.ts';
import { systemClock } from '../system-clock.ts';
import { apiKeys } from './config.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { type GuardedIo, writeOut } from './io.ts';
import { loadPlugins, type Plugins } from './plugins.ts';
import { createProgress, type Progress } from './progress.ts';
import { openRequestRecord, type RequestRecord } from './request-record.ts';
import type { StopSignals } from './signals.ts';
import { type Stop, watchForStop } from './stop.ts';
import type { WorkOptions } from './work-options.ts';

/** What a command that can be stopped works with from its beginning. */
export interface Command {
  io: GuardedIo;
  stop: Stop;
  /** Aborts when the command shall end: a stop from outside, or a fault. */
  signal: AbortSignal;
}

/** What it works with once its services are open. */
export interface SessionWork<Options extends WorkOptions = WorkOptions> extends Command {
  options: Options;
  attemptId: string;
  plugins: Plugins;
  opened: OpenedServices;
  progress: Progress;
}

/**
 * Runs a command that SIGINT and the others stop: the first aborts `signal`, the second exits at once with 130. What
 * rejects because of a stop rejects with `aborted`. `name`: what was stopped before it began.
 */
export async function stoppable(
  io: GuardedIo,
  onStopSignal: StopSignals,
  name: string,
  work: (command: Command) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { guard } = io;
  const stop = watchForStop(io, onStopSignal, () =>
    guard.exitNow(new AttemptError('aborted', 'ended at once by a second signal'), EXIT.aborted),
  );
  const signal = AbortSignal.any([stop.signal, guard.signal]);
  try {
    return await work({ io, stop, signal });
  } catch (error) {
    if (guard.fault !== null) throw guard.fault;
    throw stop.signal.aborted ? new AttemptError('aborted', `stopped before the ${name} began`) : error;
  } finally {
    stop.release();
  }
}

/** Loads what the user named, opens the services, lets `work` use them, and closes all of it, however it ends. */
export async function withServices<Options extends WorkOptions>(
  command: Command,
  options: Options,
  work: (opened: SessionWork<Options>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { io, signal } = command;
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
  const onError = (message: string): void => progress.warn(message);
  const record = recordTo === null ? null : openRequestRecord(recordTo, onError, options.command);
  try {
    const attemptId = randomUUID();
    const opened = await openServices({ io, options, attemptId, plugins, logger, progress, record });
    try {
      return await work({ ...command, options, attemptId, plugins, opened, progress });
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
  options: WorkOptions;
  attemptId: string;
  plugins: Plugins;
  logger: Logger;
  progress: Progress;
  record: RequestRecord | null;
}

async function openServices(parts: ServicesParts): Promise<OpenedServices> {
  const { io, options, attemptId, plugins, logger, progress, record } = parts;
  const { settings, traceFile, rehearsal } = options;
  const opened = await createServices({
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
  if (rehearsal !== null) return opened;
  const appServer = warningOfNewer(opened.services.appServer, progress);
  return { ...opened, services: { ...opened.services, appServer } };
}

/** Says once that the Codex in use is newer than the tested ones. */
function warningOfNewer(appServer: AppServer, progress: Progress): AppServer {
  let isTold = false;
  return {
    async connect(signal) {
      const client = await appServer.connect(signal);
      if (!isTold && compareVersions(client.version, TESTED_CODEX_VERSION) > 0) {
        isTold = true;
        progress.warn(`codex ${client.version} is newer than ${TESTED_CODEX_VERSION}, the newest that was tested`);
      }
      return client;
    },
    close: () => appServer.close(),
  };
}

/** From now on a stop or a fault aborts what the handle stands for. */
export function abortWhenStopped(work: SessionWork, name: string, handle: { abort(): void }): void {
  const { io, stop, opened, progress } = work;
  stop.attach({
    name,
    abort: () => handle.abort(),
    kill: () => opened.kill(),
    said: (text) => progress.note(text),
  });
  const onFault = (): void => handle.abort();
  io.guard.signal.addEventListener('abort', onFault, { once: true });
  if (io.guard.signal.aborted) onFault();
}

/** How a command tells its end. `told` is the result, with the fault that ended it if there was one. */
export interface Ending<Result> {
  /** For stdout; null: nothing. */
  text(told: Result): string | null;
  /** Does what else belongs to a result; false: it failed, and a person was told. */
  keep?(): Promise<boolean>;
  /** For a person. `isFaultTold`: the error has been said. */
  explain(told: Result, isFaultTold: boolean): void;
  exitOf(told: Result): ExitCode;
}

/**
 * Prints the end and gives the exit code. Everything is closed by then, so that whoever waits for it can use the session
 * at once, unless the engine is still at work in the background: then it is printed first and the work is waited for
 * (spec D4).
 */
export async function conclude<Result extends { error?: AttemptFault }>(
  { io, opened, progress, stop }: SessionWork,
  result: Result,
  ending: Ending<Result>,
): Promise<ExitCode> {
  const isQuiet = await opened.quiesce({ timeoutMs: 0 });
  if (isQuiet) await closeAll(opened);
  progress.end();
  const { fault } = io.guard;
  // The fault is why it was aborted.
  const told = fault === null ? result : { ...result, error: { code: fault.code, message: fault.message } };
  const output = await print(io, stop, ending.text(told));
  if (output instanceof Error) progress.error(output.message);
  const isKept = (await ending.keep?.()) ?? true;
  const isUnread = stop.unread || output === 'unread';
  // Whoever closed the pipe knows why it ended.
  if (!isUnread) ending.explain(told, fault !== null);

  let code = ending.exitOf(told);
  if (code === EXIT.ok && (!isKept || output instanceof Error)) code = EXIT.failed;
  if (fault !== null) code = EXIT.failed;
  // What was done before the signal came is done.
  if (isUnread || (stop.signalled && code !== EXIT.ok)) code = EXIT.aborted;
  io.guard.settle(code);
  if (!isQuiet && !(await opened.quiesce({ timeoutMs: defaultBudgets.maintain }))) {
    progress.warn('the engine did not finish its work in the background in time');
  }
  return code;
}

/** Writes the outcome to stdout. Answers why it could not, when it was not for want of a reader. */
async function print(io: GuardedIo, stop: Stop, text: string | null): Promise<'read' | 'unread' | Error> {
  if (text === null) return stop.outputError ?? 'read';
  try {
    const isRead = await writeOut(io.stdout, text);
    return stop.outputError ?? (isRead ? 'read' : 'unread');
  } catch (error) {
    return stop.outputError ?? (error instanceof Error ? error : new Error(messageOf(error)));
  }
}

async function closeAll(opened: OpenedServices): Promise<void> {
  await opened.close();
  await opened.services.trace?.close();
}
