#!/usr/bin/env node
import { isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { PACKAGE_VERSION } from '../package-info.ts';
import { EXIT, type ExitCode, exitOfError } from './exit.ts';
import { asksFor, usageError } from './flags.ts';
import { Guard } from './guard.ts';
import { COMMAND_HELP, type CommandName, commandHelp, globalHelp, LATER_COMMANDS } from './help.ts';
import { callerFolder, type GuardedIo, writeOut } from './io.ts';
import { claimStdout } from './own-stdout.ts';
import { forPeople, painter } from './progress.ts';
import { processSignals, rememberedSignals } from './signals.ts';

/** Loaded when asked for: the help needs none of it. */
const COMMANDS: Readonly<Record<CommandName, (argv: readonly string[], io: GuardedIo) => Promise<ExitCode>>> = {
  run: async (argv, io) => {
    const signals = rememberedSignals(processSignals);
    return await (await import('./run.ts')).run(argv, io, signals);
  },
  compact: async (argv, io) => {
    const signals = rememberedSignals(processSignals);
    return await (await import('./compact.ts')).compact(argv, io, signals);
  },
  show: async (argv, io) => await (await import('./show.ts')).show(argv, io),
  reset: async (argv, io) => await (await import('./reset.ts')).reset(argv, io),
  paths: async (argv, io) => await (await import('./paths.ts')).paths(argv, io),
  conform: async (argv, io) => {
    const signals = rememberedSignals(processSignals);
    return await (await import('./conform.ts')).conform(argv, io, signals);
  },
  doctor: async (argv, io) => await (await import('./doctor.ts')).doctor(argv, io),
};

async function command(argv: readonly string[], io: GuardedIo): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    await writeOut(io.stderr, globalHelp());
    return EXIT.usage;
  }
  if (name === '--version' || name === '-V') {
    await writeOut(io.stdout, `${PACKAGE_VERSION}\n`);
    return EXIT.ok;
  }
  if (name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) {
    await writeOut(io.stdout, globalHelp());
    return EXIT.ok;
  }
  if (name === 'help') return await command([rest[0] ?? '', '--help'], io);
  if (isLater(name)) throw usageError(`\`${name}\` is not yet in this version`);
  if (!isCommand(name)) throw usageError(`unknown ${name.startsWith('-') ? 'flag' : 'command'} ${name}`);
  if (asksFor(rest, '--help', '-h')) {
    await writeOut(io.stdout, commandHelp(name));
    return EXIT.ok;
  }
  return await COMMANDS[name](rest, io);
}

function isLater(name: string): boolean {
  return LATER_COMMANDS.some((later) => later === name);
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMAND_HELP, name);
}

/** What `--json` prints for a command that could not do its work; `run` and `compact` have lines of their own. */
function errorLine(error: unknown): string {
  const code = isAttemptError(error) ? error.code : 'internal';
  return `${JSON.stringify({ type: 'error', error: { code, message: redact(messageOf(error)) } })}\n`;
}

async function main(argv: readonly string[]): Promise<void> {
  const { env, stdin, stderr } = process;
  const stdout = claimStdout(process.stdout, stderr);
  // A reader that went away ends things quietly; `run` and `compact` also stop.
  for (const stream of [process.stdout, stderr]) stream.on('error', () => undefined);
  const paint = painter(stderr, env);
  const error = (text: string): void => void stderr.write(`${paint('red', 'codex-attempt:')} ${forPeople(text)}\n`);
  const warn = (text: string): void => void stderr.write(`${paint('yellow', 'warning:')} ${forPeople(text)}\n`);
  const guard = new Guard(process, { error, warn, debug: () => undefined }, (text) => stdout.writeNow(text));
  if (asksFor(argv, '--json')) guard.lastLine = errorLine;

  let code: ExitCode;
  try {
    code = await guard.bounded(
      command(argv, { env, cwd: callerFolder(env, process.cwd()), stdin, stdout, stderr, guard }),
    );
    if (guard.fault !== null && code === EXIT.ok) code = EXIT.failed;
  } catch (thrown) {
    code = exitOfError(thrown);
    // The line and the exit code tell of the first trouble; that the line itself cannot be written is told beside it.
    const line = guard.lastLine?.(thrown);
    guard.settle(code);
    if (line !== undefined) await writeOut(stdout, line).catch((failure: unknown) => error(messageOf(failure)));
    if (thrown !== guard.fault) error(messageOf(thrown));
  }
  guard.over();
  // An engine may have left a timer or a socket behind.
  process.exit(code);
}

void main(process.argv.slice(2));
