import { describe } from 'vitest';
import { appServerInvariants } from '../../src/testing/invariants/children.ts';
import { appServerSuite } from '../../src/testing/suites/app-server.ts';
import frozen from './app-server.edges.json' with { type: 'json' };
import counts from './counts.json' with { type: 'json' };
import { testPaths } from './path-suite.ts';

describe('the app-server machine', () => {
  testPaths(appServerSuite, frozen, appServerInvariants, counts['app-server']);
});
