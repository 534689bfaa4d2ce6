import { PACKAGE_VERSION } from '../package-info.ts';
import { json } from '../testing/formats/json.ts';
import { COVERAGES, type CoverageWanted, listPaths, type Proof, provePaths } from '../testing/formats/listing.ts';
import { markdown } from '../testing/formats/markdown.ts';
import { nestedDiagram } from '../testing/formats/mermaid.ts';
import { summary } from '../testing/formats/summary.ts';
import { vitest } from '../testing/formats/vitest.ts';
import type { MachineSuite } from '../testing/paths/suite.ts';
import { suites } from '../testing/suites/index.ts';
import { PATHS_FLAGS } from './command-flags.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { parseFlags, usageError } from './flags.ts';
import { type CliIo, writeOut } from './io.ts';

const FORMATS = ['summary', 'json', 'markdown', 'mermaid', 'vitest'] as const;
type Format = (typeof FORMATS)[number];

/** Broken paths that are named on stderr; `--format json` has all of them. */
const NAMED_PATHS = 20;

/**
 * `codex-attempt paths`: every path of the machines, in one of the formats. Formats that say what was covered run each
 * path first; 1 when one leaves its machine or breaks an invariant. `machines`: those of this package.
 */
export async function paths(
  argv: readonly string[],
  io: CliIo,
  machines: readonly MachineSuite[] = suites,
): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, PATHS_FLAGS, 'paths');
  if (words[0] !== undefined) throw usageError(`unexpected argument ${JSON.stringify(words[0])}`, 'paths');
  const format = oneOf<Format>('format', flags.format ?? 'summary', FORMATS);
  const coverage = oneOf<CoverageWanted>('coverage', flags.coverage ?? 'pairs', COVERAGES);
  const names = machines.map(({ name }) => name);
  const wanted = flags.machine === undefined ? names : [oneOf('machine', flags.machine, names)];
  const chosen = machines.filter(({ name }) => wanted.includes(name));
  if (format === 'mermaid') {
    await writeOut(io.stdout, nestedDiagram(chosen.map(({ machine }) => machine)));
    return EXIT.ok;
  }
  const listings = chosen.map((suite) => listPaths(suite, coverage));
  if (format === 'vitest') {
    await writeOut(io.stdout, vitest(listings, PACKAGE_VERSION));
    return EXIT.ok;
  }
  const proofs: Proof[] = [];
  for (const listing of listings) proofs.push(await provePaths(listing));
  const write = { summary, json: (all: readonly Proof[]) => json(all, PACKAGE_VERSION), markdown }[format];
  await writeOut(io.stdout, write(proofs));
  const problems = proofs.flatMap(({ listing, broken }) =>
    broken.map(({ id, title, problem }) => `${listing.suite.name}: ${title} (${id})\n  ${problem}\n`),
  );
  if (problems.length === 0) return EXIT.ok;
  const more = problems.length - NAMED_PATHS;
  const rest = more > 0 ? [`and ${more} more (--format json has them all)\n`] : [];
  await writeOut(io.stderr, [...problems.slice(0, NAMED_PATHS), ...rest].join(''));
  return EXIT.failed;
}

function oneOf<T extends string>(flag: string, given: string, known: readonly T[]): T {
  const found = known.find((one) => one === given);
  if (found === undefined) {
    throw usageError(`unknown ${flag} ${JSON.stringify(given)}; known: ${known.join(', ')}`, 'paths');
  }
  return found;
}
