/** How many are named where one is unknown. */
const NAMED = 3;

/** Single-character changes that make one word the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The names that are most like a word, the likest first: "`a`, `b`, `c`". */
export function nearest(word: string, names: readonly string[]): string {
  return names
    .map((name, at) => ({ name, at, far: distance(word.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far || a.at - b.at)
    .slice(0, NAMED)
    .map(({ name }) => `\`${name}\``)
    .join(', ');
}
