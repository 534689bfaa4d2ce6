import { stripVTControlCharacters, styleText } from 'node:util';
import { redact } from '../observe/redact.ts';
import type { Clock } from '../ports.ts';
import { type Environment, type OutputStream, variable } from './io.ts';

/**
 * How the states of an attempt are shown to a person: `status` one line that is drawn over and over, for a terminal;
 * `lines` one line per state; `none`.
 */
export type ProgressMode = 'status' | 'lines' | 'none';

export interface ProgressOptions {
  stderr: OutputStream;
  env: Environment;
  mode: ProgressMode;
  /** Errors only. */
  quiet: boolean;
  clock: Clock;
}

/** What a person reads on stderr while an attempt runs. */
export interface Progress {
  /** The attempt is in this top-level state now; the same again is no news. */
  state(name: string): void;
  /** Tokens of the turn so far. */
  tokens(total: number): void;
  /** A line that stays; not with `quiet`. */
  note(text: string): void;
  warn(text: string): void;
  /** A line that stays, also with `quiet`. */
  error(text: string): void;
  /** Takes the status line away. Nothing is drawn after it; lines are still written. */
  end(): void;
}

/** How often the elapsed time of the status line moves, in milliseconds. */
const TICK_MS = 1_000;
/** For a terminal that does not know its width: undefined or 0. */
const DEFAULT_COLUMNS = 80;
const CLEAR_LINE = '\r\u001b[2K';

export function createProgress(options: ProgressOptions): Progress {
  const { stderr, env, mode, quiet, clock } = options;
  const paint = painter(stderr, env);
  const started = clock.now();
  let state = '';
  let tokens = 0;
  let drawn = false;
  let timer: unknown;

  const erase = (): void => {
    if (drawn) stderr.write(CLEAR_LINE);
    drawn = false;
  };
  const draw = (): void => {
    if (mode !== 'status' || state === '') return;
    const elapsed = elapsedText(clock.now() - started);
    const parts = [state, elapsed, ...(tokens > 0 ? [`${tokens} tokens`] : [])];
    stderr.write(CLEAR_LINE + paint('dim', parts.join(' · ').slice(0, (stderr.columns || DEFAULT_COLUMNS) - 1)));
    drawn = true;
    clock.clearTimeout(timer);
    timer = clock.setTimeout(draw, TICK_MS);
  };
  const line = (text: string): void => {
    erase();
    stderr.write(`${text}\n`);
    if (timer !== undefined) draw();
  };
  const stop = (): void => {
    erase();
    clock.clearTimeout(timer);
    timer = undefined;
    state = '';
  };

  return {
    state(name) {
      if (name === state) return;
      state = name;
      if (mode === 'lines') line(paint('dim', name));
      draw();
    },
    tokens(total) {
      tokens = total;
      draw();
    },
    note: (text) => {
      if (!quiet) line(forPeople(text));
    },
    warn: (text) => {
      if (!quiet) line(`${paint('yellow', 'warning:')} ${forPeople(text)}`);
    },
    error: (text) => line(`${paint('red', 'codex-attempt:')} ${forPeople(text)}`),
    end: stop,
  };
}

type Style = 'dim' | 'red' | 'yellow' | 'green';

/** Colours for a terminal that has not asked for none (`NO_COLOR`); else the bare text. */
export function painter(stream: OutputStream, env: Environment): (style: Style, text: string) => string {
  const coloured = stream.isTTY === true && variable(env, 'NO_COLOR') === undefined;
  return (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text);
}

/** One line without secrets and without anything that steers a terminal. */
export function forPeople(text: string): string {
  return redact(stripVTControlCharacters(text))
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** `7s`, `2m 05s`, `1h 02m`. */
export function elapsedText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  const two = (value: number): string => String(value).padStart(2, '0');
  if (hours > 0) return `${hours}h ${two(minutes % 60)}m`;
  return minutes > 0 ? `${minutes}m ${two(seconds % 60)}s` : `${seconds}s`;
}
