import { describe } from 'vitest';
import { turnInvariants } from '../../src/testing/invariants/children.ts';
import { turnSuite } from '../../src/testing/suites/turn.ts';
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';
import frozen from './turn.edges.json' with { type: 'json' };

describe('the turn machine', () => {
  testPaths(turnSuite, frozen, turnInvariants, counts.turn);
});
