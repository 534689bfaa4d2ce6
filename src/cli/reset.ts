import { createLogger } from '../observe/log.ts';
import { resetSession } from '../reset-session.ts';
import { systemClock } from '../system-clock.ts';
import { RESET_FLAGS } from './command-flags.ts';
import { loadSettings } from './config.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { parseFlags, usageError } from './flags.ts';
import { type GuardedIo, writeOut } from './io.ts';
import { loadPlugins } from './plugins.ts';
import { createProgress } from './progress.ts';
import { existingSession } from './show.ts';

/**
 * `codex-attempt reset`: the next attempt on this session begins a new conversation on a new thread. The old file is
 * kept under another name; engine and hooks are told.
 */
export async function reset(argv: readonly string[], io: GuardedIo): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, RESET_FLAGS, 'reset');
  if (words[0] !== undefined) throw usageError(`unexpected argument ${JSON.stringify(words[0])}`, 'reset');
  const sessionFile = await existingSession(io, flags.session, 'reset');
  const settings = await loadSettings(io, flags, io.cwd);
  const logger = createLogger({ level: settings.logLevel, pretty: io.stderr.isTTY === true });
  const plugins = await loadPlugins({ settings, logger, guard: io.guard });
  try {
    const ended = await resetSession({ sessionFile, cwd: io.cwd, hooks: plugins.hooks, clock: systemClock, logger });
    const progress = createProgress({ stderr: io.stderr, env: io.env, mode: 'none', quiet: false, clock: systemClock });
    for (const { name, message } of ended.failures) progress.warn(`hook ${name}: ${message}`);
    if (flags.json === true) await writeOut(io.stdout, `${JSON.stringify({ type: 'session.reset', ...ended })}\n`);
    else progress.note(`reset ${sessionFile}; the old conversation is in ${ended.archivedTo}`);
    return EXIT.ok;
  } finally {
    await plugins.dispose();
  }
}
