import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from './fakes/processes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every file below a folder, by its path in it. */
function files(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

it('the committed protocol types are what the pinned binary generates', () => {
  const out = path.join(temporaryFolder(), 'protocol');
  const run = spawnSync(process.execPath, [path.join(root, 'scripts/protocol-generate.mjs'), '--out', out]);
  expect([run.status, run.stderr.toString()]).toEqual([0, expect.stringContaining(' files in ')]);
  expect(files(out)).toEqual(files(path.join(root, 'src/codex/protocol')));
});

it('the protocol types hold what they import and say where they come from', () => {
  const protocol = files(path.join(root, 'src/codex/protocol'));
  const { version } = JSON.parse(readFileSync(path.join(root, 'node_modules/@openai/codex/package.json'), 'utf8'));
  for (const [name, source] of Object.entries(protocol)) {
    expect(source.split('\n')[0]).toBe(
      `// Generated from codex ${version} by \`npm run protocol:generate\`. Do not edit.`,
    );
    const imports = [...source.matchAll(/from ["'](.*)["'];/g)].map(([, target = '']) => target);
    const missing = imports.filter((target) => !(path.posix.join(path.posix.dirname(name), target) in protocol));
    expect([name, missing]).toEqual([name, []]);
  }
});
