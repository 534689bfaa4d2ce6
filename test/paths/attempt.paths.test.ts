import { describe } from 'vitest';
import frozen from './attempt.edges.json' with { type: 'json' };
import { attemptInvariants } from './attempt.invariants.ts';
import { attemptSuite } from './attempt.suite.ts';
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the attempt machine', () => {
  testPaths(attemptSuite, frozen, attemptInvariants, counts.attempt);
});
