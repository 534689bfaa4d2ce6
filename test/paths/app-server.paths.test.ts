import { describe } from 'vitest';
import frozen from './app-server.edges.json' with { type: 'json' };
import { appServerSuite } from './app-server.suite.ts';
import { appServerInvariants } from './child.invariants.ts';
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the app-server machine', () => {
  testPaths(appServerSuite, frozen, appServerInvariants, counts['app-server']);
});
