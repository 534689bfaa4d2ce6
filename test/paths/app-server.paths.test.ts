import { describe } from 'vitest';
import { appServerInvariants } from './child.invariants.ts';
import { appServerSuite } from './app-server.suite.ts';
import frozen from './app-server.edges.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the app-server machine', () => {
  testPaths(appServerSuite, frozen, appServerInvariants, {
    states: 9,
    transitions: 21,
    guardOutcomes: 0,
    edges: 27,
    pairs: 111,
    paths: 124,
  });
});
