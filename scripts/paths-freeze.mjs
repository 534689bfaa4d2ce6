// Writes test/paths/*.edges.json and counts.json from the machines as they are. Run by hand only, and read the diff
// before keeping it: the files are the oracle of the path suite.
import { writeFile } from 'node:fs/promises';
import { createJiti } from 'jiti';

const jiti = createJiti(import.meta.url);
const { suites } = await jiti.import('../src/testing/suites/index.ts');
const { exploreAll } = await jiti.import('../src/testing/paths/generate.ts');
const { edgeFile, edgeRows } = await jiti.import('../src/testing/paths/edge-table.ts');
const { countSuite } = await jiti.import('../src/testing/paths/counts.ts');

const folder = new URL('../test/paths/', import.meta.url);
const counts = {};
for (const suite of suites) {
  const rows = edgeRows(suite, exploreAll(suite));
  await writeFile(new URL(`${suite.name}.edges.json`, folder), edgeFile(rows));
  counts[suite.name] = countSuite(suite);
  console.log(`${suite.name}.edges.json: ${rows.length} edges`);
}
await writeFile(new URL('counts.json', folder), `${JSON.stringify(counts, null, 2)}\n`);
