// `npm run -s mutants [-- --only TEXT] [-- --json]`: makes every mutant, lets everything have a look at it, and prints
// what found it. Exit 1 when one survives that is not listed as equivalent, or when that list is stale.
// `--only TEXT`: those with TEXT in their name. `--json`: all verdicts instead of the table.
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { createJiti } from 'jiti';

/** Milliseconds after which a mutant counts as one that never ends. The slowest needs some seconds. */
const LIMIT = 120_000;
const WORKERS = 2;

const jiti = createJiti(import.meta.url);
const load = (name) => jiti.import(`../test/mutants/${name}.ts`);
const { allMutants } = await load('all-mutants');
const { judged } = await load('mutant');
const mutants = await allMutants();

if (isMainThread) await main();
else {
  parentPort.on('message', async (at) => {
    parentPort.postMessage(await judged(mutants[at]));
  });
}

function options() {
  try {
    return parseArgs({ options: { only: { type: 'string' }, json: { type: 'boolean' } } }).values;
  } catch (error) {
    console.error(`mutants: ${error.message}`);
    return process.exit(2);
  }
}

async function main() {
  const { only = '', json = false } = options();
  const { equivalent } = await load('equivalent');
  const { reportOf, reportText } = await load('report');
  const chosen = [...mutants.keys()].filter((at) => mutants[at].name.includes(only));
  if (chosen.length === 0) {
    console.error(`mutants: none has \`${only}\` in its name`);
    process.exit(2);
  }
  const began = performance.now();
  const verdicts = await judgeAll(chosen);
  const report = reportOf(verdicts, mutants, equivalent);
  process.stdout.write(json ? `${JSON.stringify({ ...report, mutants: verdicts }, null, 2)}\n` : reportText(report));
  console.error(`${chosen.length} mutants in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  process.exitCode = report.survivors.length + report.stale.length === 0 ? 0 : 1;
}

async function judgeAll(chosen) {
  const verdicts = [];
  let next = 0;
  let over = 0;
  const lane = async () => {
    let worker = new Worker(new URL(import.meta.url));
    for (let place = next++; place < chosen.length; place = next++) {
      const mutant = mutants[chosen[place]];
      verdicts[place] = await ask(worker, chosen[place]);
      if (verdicts[place] === null) {
        await worker.terminate();
        worker = new Worker(new URL(import.meta.url));
        const { name, group, kind } = mutant;
        const why = `no end within ${LIMIT / 1000} s`;
        verdicts[place] = { name, group, kind, killedBy: 'exploration', why, invariants: null };
      }
      over += 1;
      if (process.stderr.isTTY) process.stderr.write(`\r${over}/${chosen.length} `);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: WORKERS }, lane));
  if (process.stderr.isTTY) process.stderr.write('\r');
  return verdicts;
}

/** The verdict on one mutant, or null after the limit. */
function ask(worker, at) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(() => resolve(null)), LIMIT);
    const answer = (verdict) => finish(() => resolve(verdict));
    const broke = (error) => finish(() => reject(new Error(`${mutants[at].name}: ${error.message}`, { cause: error })));
    const finish = (settle) => {
      clearTimeout(timer);
      worker.off('message', answer).off('error', broke);
      settle();
    };
    worker.on('message', answer).on('error', broke);
    worker.postMessage(at);
  });
}
