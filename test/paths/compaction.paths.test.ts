import { describe } from 'vitest';
import { compactionInvariants } from './child.invariants.ts';
import { compactionSuite } from './compaction.suite.ts';
import frozen from './compaction.edges.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the compaction machine', () => {
  testPaths(compactionSuite, frozen, compactionInvariants, {
    states: 6,
    transitions: 13,
    guardOutcomes: 4,
    edges: 17,
    pairs: 31,
    paths: 43,
  });
});
