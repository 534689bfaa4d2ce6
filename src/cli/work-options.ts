import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AttemptError, messageOf } from '../errors.ts';
import { parseRehearsalScript, type RehearsalScript } from '../rehearsal/index.ts';
import type { COMPACT_FLAGS } from './command-flags.ts';
import { loadSettings, type Settings } from './config.ts';
import { type Parsed, usageError } from './flags.ts';
import type { CliIo } from './io.ts';
import { checkOutputs, existingFolder, type NamedFiles } from './output-files.ts';

/** What `run` and `compact` have in common of what they were asked for, checked; paths are absolute. */
export interface WorkOptions {
  command: 'run' | 'compact';
  settings: Settings;
  sessionFile: string;
  cwd: string;
  /** Null: a real model. */
  rehearsal: { script?: RehearsalScript; recordTo: string | null } | null;
  json: boolean;
  progress: boolean;
  quiet: boolean;
  traceFile: string | null;
  traceText: boolean;
  /** What a person should know before anything runs. */
  warnings: readonly string[];
}

/** The flags that both have. */
export type WorkFlags = Omit<Parsed<typeof COMPACT_FLAGS>['flags'], 'session' | 'instructions' | 'help'>;

/** What a command knows of its own before the rest is read. */
export interface OwnOptions extends Pick<WorkOptions, 'command' | 'settings' | 'sessionFile' | 'cwd'> {
  /** Files of flags that it alone has, to be written. */
  written?: NamedFiles;
}

/** The working folder and the settings. Rejects with AttemptError `usage`. */
export async function readPlace(
  io: CliIo,
  flags: WorkFlags,
  command: string,
): Promise<Pick<WorkOptions, 'cwd' | 'settings'>> {
  const cwd = await existingFolder(path.resolve(io.cwd, flags.cwd ?? '.'), '--cwd', command);
  return { cwd, settings: await loadSettings(io, flags, cwd) };
}

/** Checks all that can be checked without running anything. Rejects with AttemptError `usage`. */
export async function readWorkOptions(
  io: CliIo,
  flags: WorkFlags,
  { written = {}, ...own }: OwnOptions,
): Promise<WorkOptions> {
  const at = (file: string | undefined): string | null => (file === undefined ? null : path.resolve(io.cwd, file));
  const { command, sessionFile } = own;
  const recordTo = at(flags['record-requests']);
  const rehearse = flags.rehearse === true || flags['rehearse-script'] !== undefined;
  if (recordTo !== null && !rehearse) {
    throw usageError('--record-requests needs a rehearsal: add --rehearse or --rehearse-script', command);
  }
  const traceText = flags['trace-text'] === true;
  if (traceText && flags.trace === undefined) throw usageError('--trace-text needs --trace', command);
  const traceFile = at(flags.trace);
  const scriptFile = at(flags['rehearse-script']);
  await checkOutputs(
    command,
    { '--session': sessionFile, '--rehearse-script': scriptFile },
    { ...written, '--trace': traceFile, '--record-requests': recordTo },
  );
  const script = scriptFile === null ? undefined : parseRehearsalScript(await readInput(scriptFile), scriptFile);
  return {
    ...own,
    rehearsal: rehearse ? { ...(script === undefined ? {} : { script }), recordTo } : null,
    json: flags.json === true,
    progress: flags.progress === true,
    quiet: flags.quiet === true,
    traceFile,
    traceText,
    warnings:
      rehearse && flags.model !== undefined
        ? [`a rehearsal has a model of its own: --model ${flags.model} is not used`]
        : [],
  };
}

async function readInput(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AttemptError('usage', `--rehearse-script cannot be read: ${messageOf(error)}`);
  }
}
