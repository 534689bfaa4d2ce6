import { describe } from 'vitest';
import { attemptInvariants } from './attempt.invariants.ts';
import { attemptSuite } from './attempt.suite.ts';
import frozen from './attempt.edges.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the attempt machine', () => {
  testPaths(attemptSuite, frozen, attemptInvariants, {
    states: 36,
    transitions: 98,
    guardOutcomes: 40,
    edges: 196,
    pairs: 760,
    paths: 914,
  });
});
