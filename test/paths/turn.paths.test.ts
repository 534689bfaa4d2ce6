import { describe } from 'vitest';
import { turnInvariants } from './child.invariants.ts';
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';
import frozen from './turn.edges.json' with { type: 'json' };
import { turnSuite } from './turn.suite.ts';

describe('the turn machine', () => {
  testPaths(turnSuite, frozen, turnInvariants, counts.turn);
});
