import type { SandboxMode } from '../attempt/types.ts';
import { AttemptError } from '../errors.ts';

/** Log levels, quietest last. `silent`: no log. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const SANDBOX_MODES = ['read-only', 'workspace-write', 'danger-full-access'] as const satisfies readonly SandboxMode[];

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Readers of one setting each: the value, or AttemptError `usage` that names `from` (a flag, a variable, a file). */
export function readSandbox(text: string, from: string): SandboxMode {
  return oneOf(text, SANDBOX_MODES, from);
}

export function readLogLevel(text: string, from: string): LogLevel {
  return oneOf(text, LOG_LEVELS, from);
}

/** Seconds, or a number with `s`, `m`, `h`; gives milliseconds. 0: none. */
export function readTimeout(text: string, from: string): number {
  const match = /^(\d+(?:\.\d+)?)([smh])?$/.exec(text);
  const amount = Number(match?.[1]);
  const unit = (match?.[2] ?? 's') as keyof typeof UNIT_MS;
  const ms = Math.ceil(amount * UNIT_MS[unit]);
  if (match === null || !Number.isSafeInteger(ms)) {
    throw wrong(text, from, 'seconds, or a number with s, m or h; 0 for none');
  }
  return ms;
}

/** A whole number of tokens, at least 1. */
export function readTokenBudget(text: string, from: string): number {
  const tokens = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(tokens) || tokens < 1) throw wrong(text, from, 'a whole number of tokens, at least 1');
  return tokens;
}

function oneOf<T extends string>(text: string, allowed: readonly T[], from: string): T {
  const found = allowed.find((one) => one === text);
  if (found === undefined) throw wrong(text, from, allowed.join(', '));
  return found;
}

function wrong(text: string, from: string, expected: string): AttemptError {
  return new AttemptError('usage', `${from} is ${JSON.stringify(text)}; it must be ${expected}`);
}
