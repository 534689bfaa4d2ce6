/**
 * Readers for values that came over the wire. A value of a shape that nobody expected reads as absent; nothing throws.
 */

export type WireObject = Readonly<Record<string, unknown>>;

const EMPTY: WireObject = {};

/** The object, or an empty one. */
export function objectOf(value: unknown): WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as WireObject) : EMPTY;
}

/** The string, or null. */
export function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The string, or null when absent or empty. For ids. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The finite number, or null. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The array, or an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The strings of an array; anything else in it is left out. */
export function stringsOf(value: unknown): string[] {
  return listOf(value).filter((entry): entry is string => typeof entry === 'string');
}
