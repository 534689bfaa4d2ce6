import { type Proof, percentOf } from './listing.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** A section for each machine: what its paths cover, and a table of them. */
export function markdown(proofs: readonly Proof[]): string {
  return proofs.map(section).join('\n');
}

function section({ listing, rows }: Proof): string {
  const { suite, paths } = listing;
  const covered = rows.map((row) => `${row.what} ${row.met}/${row.of} (${percentOf(row)} %)`);
  const { description } = suite.machine.root;
  const lines = [
    `## ${suite.name}`,
    '',
    ...(description === undefined ? [] : [description, '']),
    `${paths.length} paths. Covered: ${covered.join(', ')}.`,
    '',
    '| path | what happens | input | outcome | steps |',
    '|---|---|---|---|---:|',
    ...paths.map(({ id, title, input, outcome, path }) => {
      return `| \`${id}\` | ${cell(title)} | ${cell(input)} | ${outcome} | ${path.steps.length} |`;
    }),
  ];
  return `${lines.join('\n')}\n`;
}
