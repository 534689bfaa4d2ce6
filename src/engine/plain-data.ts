/** The message says what was found and where, never its text. */
export class PlainDataError extends Error {
  override readonly name = 'PlainDataError';
}

/** Deeper nesting than this is taken for a cycle. */
const MAX_DEPTH = 200;

/**
 * A deep copy of plain data: objects, arrays, texts, finite numbers, booleans and null. Undefined members are left out.
 * Throws PlainDataError for anything else (functions, class instances, NaN, cycles) and when all texts together, keys
 * included, are longer than `textChars`.
 */
export function plainCopy(value: Readonly<Record<string, unknown>>, textChars: number): Record<string, unknown> {
  let chars = 0;
  const count = (text: string): string => {
    chars += text.length;
    if (chars > textChars) throw new PlainDataError(`more text than the limit of ${textChars} characters`);
    return text;
  };
  const copyObject = (source: object, path: string, depth: number): Record<string, unknown> => {
    const copy: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(source)) {
      if (member === undefined) continue;
      const at = path === '' ? key : `${path}.${key}`;
      // Defined, not assigned: a key called __proto__ stays a key.
      Object.defineProperty(copy, count(key), {
        value: copyValue(member, at, depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return copy;
  };
  const copyValue = (item: unknown, path: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new PlainDataError('data nested too deeply, or a cycle');
    if (typeof item === 'string') return count(item);
    if (item === null || typeof item === 'boolean') return item;
    if (typeof item === 'number') {
      if (!Number.isFinite(item)) throw new PlainDataError(`${path} is not a finite number`);
      return item;
    }
    if (Array.isArray(item)) return item.map((member, index) => copyValue(member, `${path}[${index}]`, depth + 1));
    if (typeof item === 'object') {
      const prototype: unknown = Object.getPrototypeOf(item);
      if (prototype === Object.prototype || prototype === null) return copyObject(item, path, depth);
      throw new PlainDataError(`${path} is not plain data`);
    }
    throw new PlainDataError(`${path} is a ${typeof item}`);
  };
  return copyObject(value, '', 0);
}
