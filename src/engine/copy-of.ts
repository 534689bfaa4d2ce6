/** A deep copy of arrays and plain objects; sets are copied, everything else (functions, signals) is passed on. */
export function copyOf(value: unknown, seen = new Map<object, unknown>()): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    seen.set(value, copy);
    for (const item of value as unknown[]) copy.push(copyOf(item, seen));
    return copy;
  }
  if (value instanceof Set) return new Set(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: Record<string, unknown> = {};
  seen.set(value, copy);
  for (const [key, item] of Object.entries(value)) {
    // Defined, not assigned: a key called __proto__ stays a key.
    Object.defineProperty(copy, key, {
      value: copyOf(item, seen),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}
