import { describe } from 'vitest';
import { compactionInvariants } from '../../src/testing/invariants/children.ts';
import { compactionSuite } from '../../src/testing/suites/compaction.ts';
import frozen from './compaction.edges.json' with { type: 'json' };
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the compaction machine', () => {
  testPaths(compactionSuite, frozen, compactionInvariants, counts.compaction);
});
