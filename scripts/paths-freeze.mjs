// Writes test/paths/*.edges.json from the machines as they are. Run by hand only, and read the diff before keeping it:
// the files are the oracle of the path suite.
import { writeFile } from 'node:fs/promises';
import { createJiti } from 'jiti';

const jiti = createJiti(import.meta.url);
const { suites } = await jiti.import('../test/paths/suites.ts');
const { exploreAll } = await jiti.import('../test/paths/generate.ts');
const { edgeFile, edgeRows } = await jiti.import('../test/paths/edge-table.ts');

for (const suite of suites) {
  const rows = edgeRows(suite, exploreAll(suite));
  await writeFile(new URL(`../test/paths/${suite.name}.edges.json`, import.meta.url), edgeFile(rows));
  console.log(`${suite.name}.edges.json: ${rows.length} edges`);
}
