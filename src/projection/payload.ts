/** JSON of values that come from tools, stable in every byte: keys in code-unit order, whatever order they came in. */

/** Where a value is cut off: a payload can be made of anything, of any depth and length. */
const MAX_NODES = 1_000;

type Leaf = (value: unknown) => string;

/** Keys kept, every leaf replaced by its type name: `{"cmd":"[string]","force":"[boolean]"}`. Never throws on data. */
export function shapeOf(value: unknown): string {
  return sortedJson(value, (leaf) => JSON.stringify(`[${leaf === null ? 'null' : typeof leaf}]`));
}

/** The value itself as JSON; what JSON has no form for becomes its type name or its digits. Never throws on data. */
export function stableJson(value: unknown): string {
  return sortedJson(value, (leaf) => {
    if (typeof leaf === 'string' || typeof leaf === 'boolean' || leaf === null) return JSON.stringify(leaf);
    if (typeof leaf === 'number' || typeof leaf === 'bigint') return String(leaf);
    return JSON.stringify(`[${typeof leaf}]`);
  });
}

function sortedJson(value: unknown, leaf: Leaf): string {
  const ancestors = new Set<object>();
  let nodes = 0;
  const write = (node: unknown): string => {
    nodes += 1;
    if (typeof node !== 'object' || node === null) return leaf(node);
    if (ancestors.has(node)) return '"[circular]"';
    ancestors.add(node);
    const text = Array.isArray(node)
      ? `[${listed(node, write).join(',')}]`
      : `{${listed(entriesOf(node), ([key, item]) => `${JSON.stringify(key)}:${write(item)}`).join(',')}}`;
    ancestors.delete(node);
    return text;
  };
  /** Ends with the node budget, so that lists of millions and nests without end cost nothing. */
  const listed = <T>(items: readonly T[], one: (item: T) => string): string[] => {
    const texts: string[] = [];
    for (const item of items) {
      if (nodes > MAX_NODES) {
        texts.push('"[more]"');
        break;
      }
      texts.push(one(item));
    }
    return texts;
  };
  return write(value);
}

/** Undefined is absent, as it is after the row went through the session file. */
function entriesOf(value: object): [string, unknown][] {
  const entries: [string, unknown][] = Object.entries(value).filter(([, item]) => item !== undefined);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1));
}
