import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { AttemptError, messageOf } from '../errors.ts';
import { parseRehearsalScript, type RehearsalScript } from '../rehearsal/index.ts';
import type { RUN_FLAGS } from './command-flags.ts';
import { loadSettings, NO_HOME, type Settings } from './config.ts';
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
  rehearsal: { script?: RehearsalScript; recordTo: string | null } | null;
  json: boolean;
  progress: boolean;
  quiet: boolean;
  outputFile: string | null;
  traceFile: string | null;
  traceText: boolean;
  /** What a person should know before anything runs. */
  warnings: readonly string[];
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
  const scriptFile = at(flags['rehearse-script']);
  await checkOutputs(
    { '--session': sessionFile, '--rehearse-script': scriptFile },
    { '--output-last-message': outputFile, '--trace': traceFile, '--record-requests': recordTo },
  );
  const script = scriptFile === null ? undefined : parseRehearsalScript(await readInput(scriptFile), scriptFile);
  return {
    settings,
    sessionFile,
    isNewSession: flags.session === undefined,
    cwd,
    rehearsal: rehearse ? { ...(script === undefined ? {} : { script }), recordTo } : null,
    json: flags.json === true,
    progress: flags.progress === true,
    quiet: flags.quiet === true,
    outputFile,
    traceFile,
    traceText: flags['trace-text'] === true,
    warnings:
      rehearse && flags.model !== undefined
        ? [`a rehearsal has a model of its own: --model ${flags.model} is not used`]
        : [],
  };
}

/** `<home>/sessions/<time>-<random>.jsonl`, where nothing is yet. */
function newSessionFile(home: string | null): string {
  if (home === null) throw usageError(`${NO_HOME}: name the session with --session, or set CODEX_ATTEMPT_HOME`, 'run');
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return path.join(home, 'sessions', `${time}-${randomBytes(4).toString('hex')}.jsonl`);
}

/** Throws AttemptError `usage` when it is not there or not a folder. */
async function existingFolder(folder: string, flag: string): Promise<string> {
  const facts = await factsOf(folder, flag);
  if (facts === null) throw usageError(`${flag}: there is no folder ${folder}`, 'run');
  if (!facts.isDirectory()) throw usageError(`${flag}: ${folder} is not a folder`, 'run');
  return folder;
}

type NamedFiles = Readonly<Record<string, string | null>>;

/**
 * What is written must be a file that can be, in a folder that is there, and no other of the files of this run, whatever
 * path it is named by. Devices may be named twice. Nothing is opened.
 */
async function checkOutputs(read: NamedFiles, written: NamedFiles): Promise<void> {
  const taken = new Map<string, string>();
  for (const [flag, file] of Object.entries(read)) {
    const facts = file === null ? null : await stat(file).catch(() => null);
    // What is wrong with a file that is read is told when it is read.
    if (file !== null) taken.set(await identityOf(file, facts), flag);
  }
  for (const [flag, file] of Object.entries(written)) {
    if (file === null) continue;
    const folder = await existingFolder(path.dirname(file), flag);
    const facts = await factsOf(file, flag);
    if (facts?.isDirectory() === true) throw usageError(`${flag} needs a file, and ${file} is a folder`, 'run');
    await access(facts === null ? folder : file, constants.W_OK).catch((error: unknown) => {
      throw usageError(`${flag}: ${file} cannot be written: ${messageOf(error)}`, 'run');
    });
    if (facts !== null && !facts.isFile()) continue;
    const identity = await identityOf(file, facts);
    const other = taken.get(identity);
    if (other !== undefined) throw usageError(`${flag} and ${other} name the same file: ${file}`, 'run');
    taken.set(identity, flag);
  }
}

/** The same for every path of one file. */
async function identityOf(file: string, facts: Stats | null): Promise<string> {
  if (facts !== null) return `${facts.dev}:${facts.ino}`;
  const folder = path.dirname(file);
  return path.join(await realpath(folder).catch(() => folder), path.basename(file));
}

/** Null: nothing is there. Throws AttemptError `usage` when the path cannot be looked at. */
async function factsOf(file: string, flag: string): Promise<Stats | null> {
  try {
    return await stat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw usageError(`${flag}: ${file} cannot be used: ${messageOf(error)}`, 'run');
  }
}

async function readInput(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AttemptError('usage', `--rehearse-script cannot be read: ${messageOf(error)}`);
  }
}
