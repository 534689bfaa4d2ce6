import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createJiti } from 'jiti';
import { actorEdits } from './actor-edits.ts';
import { forcedSteps } from './actor-paths.ts';
import type { Mutant, Verdict } from './mutant.ts';

/** The files of `src/attempt` in which the order of work shows at the ports. */
const FILES = [
  'bootstrap',
  'recovering',
  'assembling',
  'projecting',
  'hook-build',
  'thread-start',
  'turning',
  'turn-started',
  'mirroring',
  'finalizing',
  'maintaining',
  'compacting',
  'agent-end',
];

/** Milliseconds after which a mutant counts as one that hangs. */
const LIMIT = 60_000;

const pathOf = (name: string): string => fileURLToPath(new URL(`../../src/attempt/${name}.ts`, import.meta.url));
const { transform } = createJiti(import.meta.url, { fsCache: false });

let product: Promise<string[][]> | null = null;

/** What the paths find when `file` has this source; the product itself stands them all. */
export async function judgeSource(file: string, source: string): Promise<Verdict> {
  product ??= forcedSteps();
  const forced = await product;
  const code = transform({ source, filename: file, ts: true, async: true });
  const worker = new Worker(new URL('./actor-worker.mjs', import.meta.url), {
    workerData: { file, code, forced },
    stdout: true,
    stderr: true,
  });
  const verdict = await new Promise<Verdict>((resolve) => {
    const fault = (why: string) => resolve({ killedBy: 'execution', why, invariants: null });
    const timer = setTimeout(() => fault(`no end within ${LIMIT / 1000} s`), LIMIT);
    worker.on('message', resolve);
    worker.on('error', (error) => fault(`the process broke: ${error.message}`));
    worker.on('exit', () => {
      clearTimeout(timer);
      fault('the process ended');
    });
  });
  await worker.terminate();
  return verdict;
}

/** Every mutant of the order in which the work of an attempt is done. */
export const actorMutants = (): Mutant[] =>
  FILES.flatMap((name) => {
    const file = pathOf(name);
    return actorEdits(readFileSync(file, 'utf8')).map(({ kind, change, source }) => ({
      name: `actors: ${name}.ts: ${change}`,
      group: 'actors',
      kind,
      judge: () => judgeSource(file, source),
    }));
  });
