import { type Proof, percentOf } from './listing.ts';

/** A table for people: what the paths of each machine cover, as `met/of percent`, and how many paths there are. */
export function summary(proofs: readonly Proof[]): string {
  const head = ['machine', ...(proofs[0]?.rows.map(({ what }) => what) ?? []), 'paths'];
  const body = proofs.map(({ listing, rows }) => [
    listing.suite.name,
    ...rows.map((row) => `${row.met}/${row.of} ${percentOf(row)} %`),
    String(listing.paths.length),
  ]);
  const table = [head, ...body];
  const widths = head.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const lines = table.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const paths = proofs.flatMap(({ listing }) => listing.paths).length;
  const broken = proofs.flatMap((proof) => [...new Set(proof.broken.map(({ id }) => id))]).length;
  const verdict =
    broken === 0
      ? `all ${paths} paths ran on their machines as they say, and kept every invariant`
      : `${broken} of ${paths} paths left their machine or broke an invariant`;
  const short = proofs.some(({ listing }) => listing.coverage === 'edges')
    ? ['these paths take every edge once; --coverage pairs lists more, which take every two edges in a row']
    : [];
  return `${[...lines, '', verdict, ...short].join('\n')}\n`;
}
