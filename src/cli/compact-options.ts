import path from 'node:path';
import type { COMPACT_FLAGS } from './command-flags.ts';
import { type Parsed, usageError } from './flags.ts';
import type { CliIo } from './io.ts';
import { existingSession } from './show.ts';
import { readPlace, readWorkOptions, type WorkOptions } from './work-options.ts';

/** What `compact` was asked for, checked; paths are absolute. */
export interface CompactOptions extends WorkOptions {
  /** What a person asked to keep or to leave out; null: nothing. */
  instructions: string | null;
  /** Milliseconds for each of the two compactions; null: the default. */
  timeoutMs: number | null;
}

type CompactFlags = Parsed<typeof COMPACT_FLAGS>['flags'];

/** Checks all that can be checked without running anything. Rejects with AttemptError `usage`, `session_not_found`. */
export async function readCompactOptions(io: CliIo, flags: CompactFlags): Promise<CompactOptions> {
  const { instructions = null } = flags;
  if (instructions?.trim() === '') throw usageError('--instructions is empty: give a text, or leave it out', 'compact');
  const sessionFile = await existingSession(io, flags.session, 'compact');
  const { cwd, settings } = await readPlace(io, flags, 'compact');
  // A compaction calls no tool: those of the user's file are not loaded for it.
  const own = { command: 'compact', cwd, settings: { ...settings, tools: [] }, sessionFile } as const;
  return { ...(await readWorkOptions(io, flags, own)), instructions, timeoutMs: timeoutOf(flags, settings.timeout) };
}

/** The session that was named, for a last line before it is known whether it is there. Empty: none was. */
export function namedSession(io: CliIo, { session }: CompactFlags): string {
  return session === undefined ? '' : path.resolve(io.cwd, session);
}

/** The key `timeout` of a configuration file is the time of turns. */
function timeoutOf(flags: CompactFlags, given: number | undefined): number | null {
  if (flags.timeout === undefined || given === undefined) return null;
  return given === 0 ? Number.POSITIVE_INFINITY : given;
}
