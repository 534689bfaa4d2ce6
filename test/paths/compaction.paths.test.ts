import { describe } from 'vitest';
import { compactionInvariants } from './child.invariants.ts';
import frozen from './compaction.edges.json' with { type: 'json' };
import { compactionSuite } from './compaction.suite.ts';
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the compaction machine', () => {
  testPaths(compactionSuite, frozen, compactionInvariants, counts.compaction);
});
