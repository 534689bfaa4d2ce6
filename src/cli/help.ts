import {
  COMPACT_FLAGS,
  CONFORM_FLAGS,
  DOCTOR_FLAGS,
  PATHS_FLAGS,
  RESET_FLAGS,
  RUN_FLAGS,
  SHOW_FLAGS,
} from './command-flags.ts';
import type { Flags } from './flags.ts';

/** Commands that the command line will have and does not have yet. */
export const LATER_COMMANDS = ['visualize'] as const;

interface CommandHelp {
  usage: string;
  what: string;
  flags: Flags;
  notes: readonly string[];
}

/** What `--help` says of each command. */
export const COMMAND_HELP = {
  run: {
    usage: 'codex-attempt run [FLAGS] [PROMPT]',
    what: 'runs one attempt: one prompt, one Codex turn, with the context engine around it',
    flags: RUN_FLAGS,
    notes: [
      'PROMPT is one word or in quotes; then stdin is not read. `-`, or no PROMPT and something piped in, reads stdin.',
      'A prompt that begins with - goes behind --.',
      'stdout has the answer, or NDJSON with --json; stderr is for people, and gets what engines, hooks and tools print.',
      'Ctrl-C once stops the attempt, twice ends it; a reader of stdout that goes away (`| head`) stops it, with exit 130.',
    ],
  },
  compact: {
    usage: 'codex-attempt compact --session FILE [FLAGS]',
    what: 'makes room in a session: the engine compacts it if it owns compaction, then Codex compacts its thread',
    flags: COMPACT_FLAGS,
    notes: [
      "An engine that owns compaction has the say: its result counts, also when Codex's own compaction fails.",
      'Without one, the native thread of the session is compacted by Codex. A rehearsal has threads of its own.',
      'A session that is in use is refused at once; nothing is queued, and the turn under way is left alone.',
      'Ctrl-C once stops the compaction, twice ends it. stdin is not read.',
      'Exit codes: 0 compacted, or the engine had nothing to; 1 failed, 2 usage, 3 --timeout ran out, 4 no such session, 130 aborted.',
    ],
  },
  show: {
    usage: 'codex-attempt show --session FILE',
    what: 'prints the conversation of a session and what is pending',
    flags: SHOW_FLAGS,
    notes: [],
  },
  reset: {
    usage: 'codex-attempt reset --session FILE',
    what: 'ends the conversation of a session; the old file is kept under another name',
    flags: RESET_FLAGS,
    notes: ['Name the engine that the session used, so that it forgets the session too.'],
  },
  paths: {
    usage: 'codex-attempt paths [--machine NAME] [--format FORMAT] [--coverage WHAT]',
    what: 'lists every path of an attempt, runs each on its machine and says what they cover',
    flags: PATHS_FLAGS,
    notes: [
      'summary, json and markdown run the paths; exit code 1 when one leaves its machine or breaks an invariant.',
      'vitest writes a test file, with a place for a machine of your own; json has the steps of each path.',
      'mermaid draws the states, one machine or all in one diagram.',
    ],
  },
  conform: {
    usage: 'codex-attempt conform ENGINE',
    what: 'drives a context engine through every path that touches it, and says which clauses of its contract hold',
    flags: CONFORM_FLAGS,
    notes: [
      'ENGINE is what --engine takes: PATH_OR_PACKAGE[#ID], or `example`. No Codex and no account are needed.',
      'The engine runs in processes of its own, with home and state folders that are removed afterwards; what its',
      'configuration or its own variables name is used as it is. What it prints goes to stderr.',
      'Exit codes: 0 nothing is broken, 1 a clause is broken, 2 usage, or the engine cannot be loaded.',
    ],
  },
  doctor: {
    usage: 'codex-attempt doctor',
    what: 'says what is there, what is missing and how to get it',
    flags: DOCTOR_FLAGS,
    notes: ['Exit codes: 0 nothing is missing (warnings may be there), 1 something is missing, 2 usage.'],
  },
} as const satisfies Readonly<Record<string, CommandHelp>>;

export type CommandName = keyof typeof COMMAND_HELP;

/** The help of one command. */
export function commandHelp(name: CommandName): string {
  const { usage, what, flags, notes }: CommandHelp = COMMAND_HELP[name];
  return [usage, `  ${what}`, '', ...notes, ...(notes.length > 0 ? [''] : []), 'Flags', ...flagLines(flags), ''].join(
    '\n',
  );
}

/** The help of the whole command line. */
export function globalHelp(): string {
  const commands = Object.entries(COMMAND_HELP).map(([name, { what }]) => `  ${name.padEnd(10)}${what}`);
  return `codex-attempt: one Codex turn at a time, with a context engine around it

Usage: codex-attempt COMMAND [FLAGS]

Commands
${commands.join('\n')}
  help      this help, or that of a command
  ${LATER_COMMANDS.join(', ')}: not yet in this version

Try it without an account:  codex-attempt run --rehearse "hello"

Settings: flags, then the environment, then .codex-attemptrc.json in the working folder of the turn, then config.json in
CODEX_ATTEMPT_HOME, then defaults. Keys: model, tokenBudget, timeout, logLevel; and in config.json only, because they
run code or widen the sandbox and a project file may be anyone's: engine, engineConfig, hooks, tools, codexPath, sandbox.

Environment
  CODEX_PATH            another codex binary (tested: 0.154.0 to 0.171.0)
  CODEX_HOME            home of Codex (default ~/.codex)
  CODEX_API_KEY         used in place of a stored login; OPENAI_API_KEY when there is none; neither is stored
  CODEX_ATTEMPT_HOME    sessions and config.json (default ~/.codex-attempt)
  CODEX_ATTEMPT_ENGINE  as --engine
  CODEX_ATTEMPT_MODEL   as --model
  CODEX_ATTEMPT_LOG     as --log-level
  NO_COLOR              no colours

Exit codes: 0 completed or yielded, 1 failed, 2 usage, 3 --timeout ran out, 4 no such session, 5 a denied approval ended
the turn, 130 aborted, or nobody reads stdout any more. doctor: 0 nothing is missing, 1 something is.
`;
}

function flagLines(flags: Flags): string[] {
  const rows = Object.entries(flags).map(([name, flag]) => {
    const short = flag.short === undefined ? '    ' : `-${flag.short}, `;
    return { left: `  ${short}--${name}${flag.type === 'string' ? ` ${flag.value}` : ''}`, help: flag.help };
  });
  const width = Math.max(...rows.map(({ left }) => left.length)) + 2;
  return rows.map(({ left, help }) => left.padEnd(width) + help);
}
