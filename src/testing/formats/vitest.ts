import type { ListedPath, Listing } from './listing.ts';

/** `app-server` is `appServer`. */
const variable = (name: string): string => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A string of the language, in single quotes where that needs no escape. */
const quoted = (text: string): string => (/['\\\n]/.test(text) ? JSON.stringify(text) : `'${text}'`);

/**
 * A whole test file, in TypeScript that is JavaScript too: one test for each path, its steps as plain data, and a place
 * for a machine of the user's own. It needs vitest and this package.
 */
export function vitest(listings: readonly Listing[], version: string): string {
  const names = listings.map(({ suite }) => suite.name);
  const exported = names.map((name) => `${variable(name)}Machine`);
  const [{ coverage } = { coverage: 'pairs' }] = listings;
  const steps = coverage === 'pairs' ? 'every two steps in a row' : 'every step';
  return `// Paths of codex-attempt-machine ${version} with ${steps} that there can be: ${names.join(', ')}.
// Written by \`codex-attempt paths --format vitest\`. A step is [what happens, the state it must lead to, what it must
// change]. This file is the oracle: it does not ask the machine under test what is right.
import { ${[...exported].sort().join(', ')} } from 'codex-attempt-machine/machines';
import { createPathRunner } from 'codex-attempt-machine/testing';
import { describe, it } from 'vitest';

// ---- YOUR MACHINE GOES HERE ------------------------------------------------------------------------------------------
// Put yours in place of ours to test it: \`${exported[0]}.provide({ guards: { … } })\`, or a changed copy. Its actors do
// not run: on each path they end as the path says.
${names.map((name, at) => `const ${variable(name)} = ${exported[at]};`).join('\n')}
// ----------------------------------------------------------------------------------------------------------------------

${listings.map(block).join('\n')}`;
}

function block({ suite, paths }: Listing): string {
  return `describe(${quoted(suite.name)}, () => {
  const run = createPathRunner({ machine: ${quoted(suite.name)}, chart: ${variable(suite.name)} });

${paths.map(test).join('\n')}});
`;
}

function test({ title, input, path }: ListedPath): string {
  const steps = path.steps.map(({ label, next, effect = '' }) => `[${[label, next, effect].map(quoted).join(', ')}]`);
  return `  it(${quoted(title)}, () =>
    run({ input: ${quoted(input)}, steps: [${steps.join(', ')}] }));
`;
}
