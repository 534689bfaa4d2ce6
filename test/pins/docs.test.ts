import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { HOOK_NAMES } from '../../src/hooks/registry.ts';
import { CLI_MAIN, type CliBench, openBench } from '../support/cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = readdirSync(`${root}docs`).sort();
/** A list; what it lists is checked against the code elsewhere. */
const REFERENCE = 'errors.md';
const page = (name: string): string => readFileSync(`${root}docs/${name}`, 'utf8');

interface Block {
  language: string;
  /** The file that it is to be saved as; empty: none. */
  file: string;
  text: string;
}

/** The code blocks of a page: the word after the language is a file name. */
function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+) ?(\S*)\n(.*?)^```$/gms)].map(([, language = '', file = '', text = '']) => ({
    language,
    file,
    text,
  }));
}

let bench: CliBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

/** Runs a page's commands as a person would, with `codex-attempt` in PATH. */
async function follow(blocks: readonly Block[], { folder, at }: CliBench): Promise<object> {
  await mkdir(at('bin'));
  await mkdir(at('project', 'node_modules'), { recursive: true });
  await symlink(root, at('project', 'node_modules', 'codex-attempt-machine'));
  const shim = `#!/bin/sh\nexec '${process.execPath}' '${CLI_MAIN}' "$@"\n`;
  await writeFile(at('bin', 'codex-attempt'), shim, { mode: 0o755 });
  for (const { file, text } of blocks) if (file !== '') await writeFile(at('project', file), text);
  const script = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const node = path.dirname(process.execPath);
  const child = spawn('/bin/sh', ['-e', '-c', script.join('')], {
    cwd: at('project'),
    env: {
      PATH: `${at('bin')}:${node}:${process.env['PATH']}`,
      HOME: folder,
      CODEX_HOME: at('codex-home'),
      CODEX_ATTEMPT_HOME: at('home'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
    });
  }
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  // What went wrong is of interest only then.
  return { code, stdout: text.stdout, ...(code === 0 ? {} : { stderr: text.stderr }) };
}

describe('the pages in docs/', () => {
  it('are there and linked from the README', () => {
    expect(PAGES).toEqual([
      'conform.md',
      'engines.md',
      REFERENCE,
      'hooks.md',
      'rehearsal-scripts.md',
      'sessions.md',
      'testing.md',
      'tools.md',
    ]);
    const readme = readFileSync(`${root}README.md`, 'utf8');
    expect(PAGES.filter((name) => !readme.includes(`](docs/${name})`))).toEqual([]);
  });

  it.each(PAGES.filter((name) => name !== REFERENCE))('%s has an example that does what it says', async (name) => {
    const blocks = blocksOf(page(name));
    const output = blocks.filter(({ language }) => language === 'output');
    expect(output).toHaveLength(1);
    bench = await openBench();
    expect(await follow(blocks, bench)).toEqual({ code: 0, stdout: output[0]?.text });
  });

  it('name every hook', () => {
    expect(HOOK_NAMES.filter((name) => !page('hooks.md').includes(`\`${name}\``))).toEqual([]);
  });
});
