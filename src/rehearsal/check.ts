/**
 * Readers for JSON that a person wrote. Each gives the value in its type or throws AttemptError `usage` that names the
 * file and the place inside.
 */

import { AttemptError } from '../errors.ts';

/** Where a value stands: the file, and the path inside it such as `steps[2].text` (empty: the whole). */
export interface Check {
  source: string;
  path: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws the one error of this file. */
export function refuse(check: Check, problem: string): never {
  throw new AttemptError('usage', `${check.source}: ${check.path === '' ? 'the script' : check.path} ${problem}`);
}

/** The place of a member of an object. */
export function member(check: Check, key: string): Check {
  return { source: check.source, path: check.path === '' ? key : `${check.path}.${key}` };
}

export function object(check: Check, value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(check, 'must be an object');
  return value as Fields;
}

/** Refuses members that are not known, so that a misspelt one does not pass in silence. */
export function noMore(check: Check, fields: Fields, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(member(check, unknown), `is not known here (known: ${known.join(', ')})`);
}

export function list<T>(check: Check, value: unknown, read: (at: Check, item: unknown) => T): T[] {
  if (!Array.isArray(value)) refuse(check, 'must be a list');
  return value.map((item: unknown, index) => read({ source: check.source, path: `${check.path}[${index}]` }, item));
}

export function string(check: Check, value: unknown): string {
  if (typeof value !== 'string') refuse(check, 'must be a string');
  return value;
}

/** A text with at least one character. */
export function name(check: Check, value: unknown): string {
  const text = string(check, value);
  if (text === '') refuse(check, 'must not be empty');
  return text;
}

export function integer(check: Check, value: unknown, least: number, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    refuse(check, `must be a whole number from ${least} to ${most}`);
  }
  return value;
}

export function oneOf<T extends string | boolean>(check: Check, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) refuse(check, `must be ${allowed.map((one) => JSON.stringify(one)).join(' or ')}`);
  return found;
}

/** `{ [key]: value }` when the key is there, else nothing: for spreading into a literal. */
export function optional<K extends string, T>(
  check: Check,
  fields: Fields,
  key: K,
  read: (at: Check, value: unknown) => T,
): { [P in K]?: T } {
  if (!Object.hasOwn(fields, key)) return {};
  const entry: { [P in K]?: T } = {};
  entry[key] = read(member(check, key), fields[key]);
  return entry;
}
