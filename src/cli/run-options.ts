import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { RUN_FLAGS } from './command-flags.ts';
import { NO_HOME } from './config.ts';
import { type Parsed, usageError } from './flags.ts';
import type { CliIo } from './io.ts';
import { readPlace, readWorkOptions, type WorkOptions } from './work-options.ts';

/** What `run` was asked for, checked; paths are absolute. */
export interface RunOptions extends WorkOptions {
  /** No `--session`: its path is told. */
  isNewSession: boolean;
  outputFile: string | null;
}

type RunFlags = Parsed<typeof RUN_FLAGS>['flags'];

/** Checks all that can be checked without running anything. Rejects with AttemptError `usage`. */
export async function readRunOptions(io: CliIo, flags: RunFlags): Promise<RunOptions> {
  const at = (file: string | undefined): string | null => (file === undefined ? null : path.resolve(io.cwd, file));
  const place = await readPlace(io, flags, 'run');
  const sessionFile = at(flags.session) ?? newSessionFile(place.settings.home);
  const outputFile = at(flags['output-last-message']);
  const written = { '--output-last-message': outputFile };
  const shared = await readWorkOptions(io, flags, { ...place, command: 'run', sessionFile, written });
  return { ...shared, isNewSession: flags.session === undefined, outputFile };
}

/** `<home>/sessions/<time>-<random>.jsonl`, where nothing is yet. */
function newSessionFile(home: string | null): string {
  if (home === null) throw usageError(`${NO_HOME}: name the session with --session, or set CODEX_ATTEMPT_HOME`, 'run');
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return path.join(home, 'sessions', `${time}-${randomBytes(4).toString('hex')}.jsonl`);
}
