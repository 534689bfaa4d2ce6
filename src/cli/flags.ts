import { parseArgs } from 'node:util';
import { AttemptError } from '../errors.ts';

/** One flag: its kind, and what `--help` says of it. `value` names what a string flag takes. */
export type Flag =
  | { type: 'boolean'; help: string; short?: string }
  | { type: 'string'; value: string; help: string; short?: string }
  | { type: 'string'; value: string; help: string; short?: string; multiple: true };

export type Flags = Readonly<Record<string, Flag>>;

/** What a command was given: a value per flag that was there, and the words that are none. */
export interface Parsed<F extends Flags> {
  flags: {
    [Name in keyof F]?: F[Name] extends { multiple: true }
      ? string[]
      : F[Name] extends { type: 'string' }
        ? string
        : boolean;
  };
  words: string[];
}

/** The flag that every command has. */
export const HELP_FLAG = { help: { type: 'boolean', short: 'h', help: 'show this help' } } as const satisfies Flags;

/** A wrong command line: one sentence, and where to read how it goes. */
export function usageError(problem: string, command?: string): AttemptError {
  const help = command === undefined ? 'codex-attempt --help' : `codex-attempt ${command} --help`;
  return new AttemptError('usage', `${problem} (see \`${help}\`)`);
}

/** Whether one of these flags is among the arguments, also among wrong ones. What follows `--` is a prompt. */
export function asksFor(argv: readonly string[], ...names: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv
    .slice(0, end === -1 ? argv.length : end)
    .some((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
}

/** Reads a command's arguments. Throws AttemptError `usage` that names the flag. */
export function parseFlags<const F extends Flags>(argv: readonly string[], flags: F, command?: string): Parsed<F> {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      {
        type: flag.type,
        ...(flag.short === undefined ? {} : { short: flag.short }),
        ...('multiple' in flag ? { multiple: true } : {}),
      },
    ]),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const values: Record<string, unknown> = {};
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind === 'option') readOption(token, flags, values, command);
  }
  return { flags: values as Parsed<F>['flags'], words };
}

interface OptionToken {
  name: string;
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

function readOption(token: OptionToken, flags: Flags, values: Record<string, unknown>, command?: string): void {
  const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
  if (flag === undefined) {
    const hint = command === 'run' ? '; a prompt that begins with - goes behind --, as in `run -- "- a list"`' : '';
    throw usageError(`unknown flag ${token.rawName}${hint}`, command);
  }
  if (!('multiple' in flag) && Object.hasOwn(values, token.name)) {
    throw usageError(`--${token.name} is given twice`, command);
  }
  if (flag.type === 'boolean') {
    if (token.value !== undefined) throw usageError(`${token.rawName} takes no value`, command);
    values[token.name] = true;
    return;
  }
  const { value } = token;
  if (value === undefined || value === '') throw usageError(`${token.rawName} needs a value: ${flag.value}`, command);
  // `--session --json` is a forgotten value, not a file of that name; `--session=--json` is one.
  if (token.inlineValue !== true && value.startsWith('--')) {
    throw usageError(`${token.rawName} needs a value: ${flag.value}`, command);
  }
  if ('multiple' in flag) values[token.name] = [...((values[token.name] as string[] | undefined) ?? []), value];
  else values[token.name] = value;
}
