// Writes test/real/attempt-paths.json: the fewest paths that together have every outcome of every state that ports can
// bring about. They are run on the real app-server. Run by hand when the machine has changed.
import { readFile, writeFile } from 'node:fs/promises';
import { createJiti } from 'jiti';

const jiti = createJiti(import.meta.url);
const { attemptSuite } = await jiti.import('../src/testing/suites/attempt.ts');
const { coveringPaths, exploreAll, reduced } = await jiti.import('../src/testing/paths/generate.ts');
const { createDirectedExecutor } = await jiti.import('../src/testing/director/execute.ts');
const { inputName } = await jiti.import('../src/testing/paths/counts.ts');
const { canBeRehearsed } = await jiti.import('../test/support/rehearsed-stage.ts');

const madeUp = JSON.parse(await readFile(new URL('../test/paths/attempt.made-up.json', import.meta.url), 'utf8'));
const unreal = new Set(madeUp.map(({ edge }) => edge));
const execute = createDirectedExecutor(attemptSuite);
const candidates = [];
for (const graph of exploreAll(attemptSuite)) {
  for (const path of coveringPaths([graph], 'edges')) {
    if (!canBeRehearsed(path) || path.steps.some((step) => unreal.has(reduced(step)))) continue;
    const variant = candidates.length;
    const run = await execute(path, { variant });
    if (run.mismatch === null && run.forced.length === 0)
      candidates.push({ path, variant, edges: new Set(path.steps.map(reduced)) });
  }
}
const left = new Set(candidates.flatMap(({ edges }) => [...edges]));
const all = left.size;
const chosen = [];
const gain = ({ edges, path }) => [...edges].filter((edge) => left.has(edge)).length / (path.steps.length + 5);
while (left.size > 0) {
  const best = candidates.reduce((one, other) => (gain(other) > gain(one) ? other : one));
  chosen.push(best);
  for (const edge of best.edges) left.delete(edge);
}
const rows = chosen.map(({ path, variant }) =>
  JSON.stringify({ input: inputName(path.input), variant, steps: path.steps.map(({ label }) => label) }),
);
await writeFile(
  new URL('../test/real/attempt-paths.json', import.meta.url),
  `[\n${rows.map((row) => `  ${row}`).join(',\n')}\n]\n`,
);
console.log(`${chosen.length} of ${candidates.length} paths have all ${all} outcomes`);
