/**
 * `codex-attempt-machine/testing`: every path of the machines, the executor that runs them, the invariants that must
 * hold on each, and ports under a test's control. Depends on no test runner.
 */

export { attemptInvariants } from './invariants/attempt.ts';
export { appServerInvariants, compactionInvariants, turnInvariants } from './invariants/children.ts';
export { commonInvariants, type Invariant, violations } from './invariants/invariant.ts';
export { checkMachine, type MachineParts, partsOf } from './paths/check-machine.ts';
export { type Coverage, type CoverageRow, createCoverage } from './paths/coverage.ts';
export type { Invocation } from './paths/delegating.ts';
export { derivedMachine, derivedOptions, toTestConfig } from './paths/derived-model.ts';
export { type EdgeRow, edgeDiff, edgeFile, edgeRows } from './paths/edge-table.ts';
export { createExecutor, deferredActors, type Executor, type PathActors } from './paths/execute.ts';
export {
  coveringPaths,
  type Edge,
  type ExploreOptions,
  explore,
  exploreAll,
  exploreDefaults,
  type Graph,
  type GraphNode,
  type Path,
  pathTitle,
} from './paths/generate.ts';
export type { Answers, EventCase, InputCase, MachineSuite, PathStep } from './paths/suite.ts';
export type { Run } from './paths/walk.ts';
export { suites } from './suites/index.ts';
