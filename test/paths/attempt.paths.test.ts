import { describe } from 'vitest';
import { attemptInvariants } from '../../src/testing/invariants/attempt.ts';
import { attemptSuite } from '../../src/testing/suites/attempt.ts';
import frozen from './attempt.edges.json' with { type: 'json' };
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the attempt machine', () => {
  testPaths(attemptSuite, frozen, attemptInvariants, counts.attempt);
});
