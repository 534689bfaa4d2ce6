/**
 * The examination of an engine from npm, `@robertogongora/graphiti`, which needs a server: a stand-in of ours. Looked for
 * in `.interop/node_modules`, where `npm install --prefix .interop --no-save --ignore-scripts @robertogongora/graphiti@0.6.2`
 * puts it.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ConformReport } from '../../src/conform/report.ts';
import { openBench } from '../support/cli.ts';
import { startGraphitiServer } from './graphiti-server.ts';

const FOLDER = fileURLToPath(new URL('../../.interop/node_modules/@robertogongora/graphiti', import.meta.url));
const isThere = existsSync(FOLDER);
if (!isThere) console.warn('skipped: @robertogongora/graphiti is not in .interop');

describe.skipIf(!isThere)('@robertogongora/graphiti 0.6.2', () => {
  it('keeps all of the contract that it takes part in, but for the token budget', async () => {
    const server = await startGraphitiServer();
    const bench = await openBench();
    try {
      const config = JSON.stringify({ url: server.url, recallMaxFacts: 5 });
      const end = await bench.run(['conform', FOLDER, '--json', '--engine-config', config]);
      expect(end).toMatchObject({ code: 1, stderr: '' });
      const report = JSON.parse(end.stdout) as ConformReport;
      expect(report.engine).toEqual({
        id: 'graphiti',
        name: 'Graphiti Knowledge Graph',
        version: '0.6.2',
        source: `${FOLDER}/index.ts`,
        finalizer: 'afterTurn',
        methods: ['bootstrap', 'ingestBatch', 'afterTurn', 'dispose'],
      });
      const verdicts = Object.fromEntries(report.clauses.map(({ id, verdict }) => [id, verdict]));
      const held = Object.fromEntries(report.clauses.map(({ id }) => [id, 'held']));
      expect(verdicts).toEqual({
        ...held,
        // It gives back the messages that it was given.
        budget: 'broken',
        'commit-idempotent': 'not-exercised',
        'commit-atomic': 'not-exercised',
        epoch: 'not-exercised',
      });
      expect(report.paths).toEqual({ total: report.paths.driven, driven: expect.any(Number), leftOut: 0 });
      // It did store turns, and no heartbeat among them.
      expect(server.episodes.length).toBeGreaterThan(100);
    } finally {
      await bench.close();
      await server.close();
    }
  });
});
