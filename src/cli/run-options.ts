import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { AttemptError, messageOf } from '../errors.ts';
import { parseRehearsalScript, type RehearsalScript } from '../rehearsal/index.ts';
import type { RUN_FLAGS } from './command-flags.ts';
import { loadSettings, type Settings } from './config.ts';
import { type Parsed, usageError } from './flags.ts';
import type { CliIo } from './io.ts';

/** What `run` was asked for, checked; paths are absolute. */
export interface RunOptions {
  settings: Settings;
  sessionFile: string;
  /** No `--session`: its path is told. */
  isNewSession: boolean;
  cwd: string;
  /** Null: a real model. */
  rehearsal: { script?: RehearsalScript; recordTo?: string } | null;
  json: boolean;
  progress: boolean;
  quiet: boolean;
  outputFile: string | null;
  traceFile: string | null;
  traceText: boolean;
}

type RunFlags = Parsed<typeof RUN_FLAGS>['flags'];

/** Checks all that can be checked without running anything. Rejects with AttemptError `usage`. */
export async function readRunOptions(io: CliIo, flags: RunFlags): Promise<RunOptions> {
  const at = (file: string | undefined): string | null => (file === undefined ? null : path.resolve(io.cwd, file));
  const cwd = await existingFolder(path.resolve(io.cwd, flags.cwd ?? '.'), '--cwd');
  const settings = await loadSettings(io, flags, cwd);
  const sessionFile = at(flags.session) ?? newSessionFile(settings.home);
  const recordTo = at(flags['record-requests']);
  const rehearse = flags.rehearse === true || flags['rehearse-script'] !== undefined;
  if (recordTo !== null && !rehearse) {
    throw usageError('--record-requests needs a rehearsal: add --rehearse or --rehearse-script', 'run');
  }
  if (flags['trace-text'] === true && flags.trace === undefined) throw usageError('--trace-text needs --trace', 'run');
  const outputFile = at(flags['output-last-message']);
  const traceFile = at(flags.trace);
  await checkOutputs(sessionFile, {
    '--output-last-message': outputFile,
    '--trace': traceFile,
    '--record-requests': recordTo,
  });
  const scriptFile = at(flags['rehearse-script']);
  const script = scriptFile === null ? undefined : parseRehearsalScript(await readInput(scriptFile), scriptFile);
  return {
    settings,
    sessionFile,
    isNewSession: flags.session === undefined,
    cwd,
    rehearsal: rehearse
      ? { ...(script === undefined ? {} : { script }), ...(recordTo === null ? {} : { recordTo }) }
      : null,
    json: flags.json === true,
    progress: flags.progress === true,
    quiet: flags.quiet === true,
    outputFile,
    traceFile,
    traceText: flags['trace-text'] === true,
  };
}

/** `<home>/sessions/<time>-<random>.jsonl`, where nothing is yet. */
function newSessionFile(home: string): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return path.join(home, 'sessions', `${time}-${randomBytes(4).toString('hex')}.jsonl`);
}

/** Throws AttemptError `usage` when it is not there or not a folder. */
async function existingFolder(folder: string, flag: string): Promise<string> {
  const facts = await stat(folder).catch((error: unknown) => {
    throw usageError(`${flag} names a folder that cannot be used: ${messageOf(error)}`, 'run');
  });
  if (!facts.isDirectory()) throw usageError(`${flag} is not a folder: ${folder}`, 'run');
  return folder;
}

/** Files that are written must lie in a folder that is there, and none may be the session. */
async function checkOutputs(sessionFile: string, files: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [flag, file] of Object.entries(files)) {
    if (file === null) continue;
    if (file === sessionFile) throw usageError(`${flag} names the session file: ${file}`, 'run');
    await existingFolder(path.dirname(file), `the folder of ${flag}`);
  }
}

async function readInput(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AttemptError('usage', `--rehearse-script cannot be read: ${messageOf(error)}`);
  }
}
