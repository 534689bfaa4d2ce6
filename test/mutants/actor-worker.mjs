// Loads the product with one source changed, and says what the paths of an attempt find in it. `workerData`: the
// changed file, its code as jiti makes it, and what cannot be brought about on each path of the product itself.
import { parentPort, workerData } from 'node:worker_threads';
import { createJiti } from 'jiti';

const { file, code, forced } = workerData;
const plain = createJiti(import.meta.url);
const changed = createJiti(import.meta.url, {
  // Its files lie in the cache of the plain one; the changed source must not come there.
  fsCache: false,
  transform: (options) => ({ code: options.filename === file ? code : plain.transform(options) }),
});
const { findingOf } = await changed.import('./actor-paths.ts');
parentPort.postMessage(await findingOf(forced));
