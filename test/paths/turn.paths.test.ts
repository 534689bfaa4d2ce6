import { describe } from 'vitest';
import { turnInvariants } from './child.invariants.ts';
import { turnSuite } from './turn.suite.ts';
import frozen from './turn.edges.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the turn machine', () => {
  testPaths(turnSuite, frozen, turnInvariants, {
    states: 8,
    transitions: 17,
    guardOutcomes: 0,
    edges: 64,
    pairs: 687,
    paths: 1037,
  });
});
