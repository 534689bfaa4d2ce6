/** Plain data as the oracles compare it. */

/** Equal data gives equal text, whatever the order of its keys. What is no data is named by its kind. Total. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value, [])) ?? 'undefined';
}

function sorted(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return `(${typeof value})`;
  if (typeof value === 'number' && !Number.isFinite(value)) return `(${value})`;
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '(a cycle)';
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map((item: unknown) => sorted(item, inside));
  if (value instanceof Set) return { '(set)': [...(value as Set<unknown>)].map((item) => canonical(item)).sort() };
  if (!isPlain(value)) return `(${value.constructor?.name ?? 'object'})`;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(Reflect.get(value, key), inside)]),
  );
}

/** The first place in which two values differ, as `messages[2].content`, with what is there; null: they are equal. */
export function difference(
  before: unknown,
  after: unknown,
  at = '',
): { at: string; before: string; after: string } | null {
  if (canonical(before) === canonical(after)) return null;
  if (isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const key of keysOf(before, after)) {
      const place = Array.isArray(before) ? `${at}[${key}]` : at === '' ? key : `${at}.${key}`;
      const found = difference(Reflect.get(before, key), Reflect.get(after, key), place);
      if (found !== null) return found;
    }
  }
  return { at: at === '' ? 'the whole' : at, before: excerpt(before), after: excerpt(after) };
}

function keysOf(before: object, after: object): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort((a, b) => {
    const [one, other] = [Number(a), Number(b)];
    return Number.isNaN(one) || Number.isNaN(other) ? (a < b ? -1 : 1) : one - other;
  });
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || isPlain(value));
}

/** Characters of a value that a report shows. */
const EXCERPT_CHARS = 120;

/** Characters that cannot be seen, beyond those that JSON writes as codes. */
const UNSEEN = /[\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The beginning of a value's text; what cannot be seen in it stands as its code. */
export function excerpt(value: unknown): string {
  const plain = typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'nothing' : canonical(value);
  const text = plain.replace(UNSEEN, (unseen) => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return text.length <= EXCERPT_CHARS ? text : `${text.slice(0, EXCERPT_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
