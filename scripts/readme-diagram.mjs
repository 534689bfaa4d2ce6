// Writes the state diagram of the README from the machine; with --check it only says whether the README is up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { createJiti } from 'jiti';

const jiti = createJiti(import.meta.url);
const { attemptMachine } = await jiti.import('../machines/index.ts');
const { overviewDiagram } = await jiti.import('../src/testing/formats/mermaid.ts');

const file = new URL('../README.md', import.meta.url);
const START = '<!-- diagram: made from machines/attempt.ts by npm run readme:diagram -->';
const END = '<!-- /diagram -->';

const readme = readFileSync(file, 'utf8');
const [before, rest] = readme.split(START);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`README.md needs ${START} and ${END}`);
const wanted = `${before}${START}\n\`\`\`mermaid\n${overviewDiagram(attemptMachine)}\`\`\`\n${END}${after}`;
if (process.argv.includes('--check')) {
  if (wanted !== readme) {
    console.error('README.md: the state diagram is not that of the machine; run npm run readme:diagram');
    process.exit(1);
  }
} else if (wanted !== readme) {
  writeFileSync(file, wanted);
}
