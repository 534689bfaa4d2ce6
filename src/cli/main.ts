#!/usr/bin/env node
import { messageOf } from '../errors.ts';
import { PACKAGE_VERSION } from '../package-info.ts';
import { EXIT, type ExitCode, exitOfError } from './exit.ts';
import { usageError } from './flags.ts';
import { COMMAND_HELP, type CommandName, commandHelp, globalHelp, LATER_COMMANDS } from './help.ts';
import { type CliIo, writeOut } from './io.ts';
import { forPeople, painter } from './progress.ts';
import { processSignals } from './signals.ts';

/** Loaded when asked for: the help needs none of it. */
const COMMANDS: Readonly<Record<CommandName, (argv: readonly string[], io: CliIo) => Promise<ExitCode>>> = {
  run: async (argv, io) => await (await import('./run.ts')).run(argv, io, processSignals),
  show: async (argv, io) => await (await import('./show.ts')).show(argv, io),
  reset: async (argv, io) => await (await import('./reset.ts')).reset(argv, io),
  doctor: async (argv, io) => await (await import('./doctor.ts')).doctor(argv, io),
};

async function command(argv: readonly string[], io: CliIo): Promise<ExitCode> {
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
  if (asksForHelp(rest)) {
    await writeOut(io.stdout, commandHelp(name));
    return EXIT.ok;
  }
  return await COMMANDS[name](rest, io);
}

/** What follows `--` is a prompt. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).some((word) => word === '--help' || word === '-h');
}

function isLater(name: string): boolean {
  return LATER_COMMANDS.some((later) => later === name);
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMAND_HELP, name);
}

const io: CliIo = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
};
// A reader that went away ends things quietly; `run` also stops its attempt.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

let code: ExitCode;
try {
  code = await command(process.argv.slice(2), io);
} catch (error) {
  code = exitOfError(error);
  await writeOut(io.stderr, `${painter(io.stderr, io.env)('red', 'codex-attempt:')} ${forPeople(messageOf(error))}\n`);
}
// An engine may have left a timer or a socket behind.
process.exit(code);
