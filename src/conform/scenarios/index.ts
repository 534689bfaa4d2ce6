import { assemblingScenarios } from './assembling.ts';
import { finalizingScenarios } from './finalizing.ts';
import { lifecycleScenarios } from './lifecycle.ts';
import { restartingScenarios } from './restarting.ts';
import type { Scenario } from './scenario.ts';
import { unfinishedScenarios } from './unfinished.ts';

export type { Scenario } from './scenario.ts';

/** In the order in which they are run: short conversations first. */
export const SCENARIOS: readonly Scenario[] = [
  ...assemblingScenarios,
  ...finalizingScenarios,
  ...unfinishedScenarios,
  ...lifecycleScenarios,
  ...restartingScenarios,
];
