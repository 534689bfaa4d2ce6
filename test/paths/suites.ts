import { appServerSuite } from './app-server.suite.ts';
import { attemptSuite } from './attempt.suite.ts';
import { compactionSuite } from './compaction.suite.ts';
import type { MachineSuite } from './suite.ts';
import { turnSuite } from './turn.suite.ts';

/** The four production machines with all that path generation must know about them. */
export const suites: readonly MachineSuite[] = [attemptSuite, turnSuite, compactionSuite, appServerSuite];
