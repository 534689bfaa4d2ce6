import type { MachineSuite } from '../paths/suite.ts';
import { appServerSuite } from './app-server.ts';
import { attemptSuite } from './attempt.ts';
import { compactionSuite } from './compaction.ts';
import { turnSuite } from './turn.ts';

/** The four production machines with all that path generation must know about them. */
export const suites: readonly MachineSuite[] = [attemptSuite, turnSuite, compactionSuite, appServerSuite];
