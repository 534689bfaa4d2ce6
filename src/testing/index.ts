/**
 * `codex-attempt-machine/testing`: every path of the machines, the executor that runs them, the invariants that must
 * hold on each, and ports under a test's control. Depends on no test runner.
 */

export { ControlledClock, quiet } from './controlled/clock.ts';
export { type CodexSetup, ControlledCodex, refusal } from './controlled/codex.ts';
export { controlledEngine, type EngineSetup, scriptedEngine } from './controlled/engine.ts';
export {
  answer,
  type ControlledCall,
  ControlledScript,
  deaf,
  fail,
  type Gate,
  gate,
  hang,
  type Plan,
  pass,
  type Step,
} from './controlled/script.ts';
export { type Controlled, type ControlledSetup, controlledServices } from './controlled/services.ts';
export { controlledSession, type SessionSetup, scriptedStore } from './controlled/session.ts';
export { ControlledTurn } from './controlled/turn.ts';
export { type ChildRun, createChildExecutor } from './director/child.ts';
export { compactionSteps } from './director/compaction-steps.ts';
export { createDirectedExecutor, type DirectedExecutor, type DirectedRun } from './director/execute.ts';
export type { SceneOptions } from './director/scene.ts';
export { turnSteps } from './director/turn-steps.ts';
export { attemptInvariants } from './invariants/attempt.ts';
export { appServerInvariants, compactionInvariants, turnInvariants } from './invariants/children.ts';
export { commonInvariants, type Invariant, violations } from './invariants/invariant.ts';
export { invariantsOf } from './invariants/of-machine.ts';
export { type PortInvariant, portInvariants, portViolations } from './invariants/ports.ts';
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
} from './paths/generate.ts';
export {
  createPathRunner,
  type PathRunner,
  type PathRunnerOptions,
  type PlainPath,
  type PlainStep,
} from './paths/run-path.ts';
export type { Answers, EventCase, InputCase, MachineSuite, PathStep, Words } from './paths/suite.ts';
export { outcomeOf, pathTitles } from './paths/titles.ts';
export type { Run } from './paths/walk.ts';
export { appServerSuite } from './suites/app-server.ts';
export { attemptSuite } from './suites/attempt.ts';
export { compactionSuite } from './suites/compaction.ts';
export { suites } from './suites/index.ts';
export { turnSuite } from './suites/turn.ts';
