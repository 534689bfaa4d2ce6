/** The log: pino's JSON lines, every string redacted, no prompt or transcript text, no session key (spec 11). */

import { createHash } from 'node:crypto';
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino';
import { AttemptError, messageOf } from '../errors.ts';
import type { LogFields, Logger } from '../ports.ts';
import { openPrivateFile } from './private-file.ts';
import { REDACTED, redact } from './redact.ts';
import { isSecretName } from './secret-names.ts';
import { isTextField } from './text-fields.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  /** A file (appended to, mode 0600), or something that takes whole lines and does not throw. Default: stderr. */
  destination?: string | { write(line: string): void };
  /** The least level that is written. */
  level?: LogLevel;
  /** Lines for a person in place of JSON. */
  pretty?: boolean;
}

export const LOGGER_DEFAULTS = { level: 'info', pretty: false } as const;

const STDERR = 2;

/**
 * Makes a logger. Its calls never throw; lines that cannot be written are lost. Throws AttemptError `usage` when the log
 * file cannot be opened.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level, pretty } = { ...LOGGER_DEFAULTS, ...options };
  const stream = openDestination(options.destination);
  const log = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty ? { write: (line: string) => stream.write(prettyLine(line)) } : stream,
  );
  return {
    debug: (message, fields) => log.debug(cleanFields(fields), redact(message)),
    info: (message, fields) => log.info(cleanFields(fields), redact(message)),
    warn: (message, fields) => log.warn(cleanFields(fields), redact(message)),
    error: (message, fields) => log.error(cleanFields(fields), redact(message)),
  };
}

function openDestination(given: LoggerOptions['destination']): DestinationStream {
  if (typeof given === 'object') return { write: (line) => given.write(line) };
  const stream = destination({ fd: given === undefined ? STDERR : openLogFile(given), sync: true });
  // A full disk or a closed pipe must not end the attempt; there is no other place to say it.
  stream.on('error', () => undefined);
  return stream;
}

function openLogFile(path: string): number {
  try {
    return openPrivateFile(path, 'a');
  } catch (error) {
    throw new AttemptError('usage', `Cannot write the log to ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Strings redacted, fields of text left out, the session key told apart by a hash (spec O2). */
function cleanFields(fields: LogFields | undefined): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (value === undefined || isTextField(name, value)) continue;
    if (name === 'sessionKey') clean.sessionKeyHash = shortHash(String(value));
    else if (isSecretName(name) && typeof value === 'string') clean[name] = REDACTED;
    else if (typeof value === 'string') clean[name] = redact(value);
    else if (typeof value === 'object' && value !== null) clean[name] = value.map((one) => redact(one));
    else clean[name] = value;
  }
  return clean;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** `12:30:01.250 warn  message  key=value` */
function prettyLine(json: string): string {
  const { time, level, message, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const pairs = Object.entries(fields).map(([name, value]) => `  ${name}=${JSON.stringify(value)}`);
  return `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(message)}${pairs.join('')}\n`;
}
