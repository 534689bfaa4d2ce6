import { isAbsolute } from 'node:path';
import { defaultBudgets } from '../../machines/index.ts';
import { hostCapabilities, resolveEngineRequirements } from '../engine/requirements.ts';
import { AttemptError } from '../errors.ts';
import { TURN_INPUT_LIMIT } from '../projection/fit.ts';
import type { ResolvedParams, ResolvedServices } from './record.ts';

/**
 * Refuses what no attempt can be made of, before anything is written.
 * @throws AttemptError `prompt_empty`, `prompt_too_large`, `usage`, `engine_requirements` (spec D5).
 */
export function checkAttempt(params: ResolvedParams, services: ResolvedServices): void {
  if (params.request === 'turn') checkPrompt(params.prompt);
  if (!isAbsolute(params.cwd)) {
    throw new AttemptError('usage', `the working folder must be an absolute path, not ${params.cwd}`);
  }
  if (!(Number.isFinite(params.tokenBudget) && params.tokenBudget > 0)) {
    throw new AttemptError('usage', `the token budget must be a number above 0, not ${params.tokenBudget}`);
  }
  for (const [name, value] of Object.entries(params.budgets)) {
    if (!(name in defaultBudgets)) throw new AttemptError('usage', `there is no budget ${name}`);
    if (Number.isNaN(value) || value < 0) {
      throw new AttemptError('usage', `budgets.${name} must be milliseconds, 0 or more, not ${value}`);
    }
  }
  if (services.engine !== null) {
    const operation = params.request === 'turn' ? 'agent-run' : 'manual-compact';
    resolveEngineRequirements(
      services.engine,
      operation,
      hostCapabilities({ completion: services.completion !== null }),
    );
  }
}

/** @throws AttemptError `prompt_empty`, `prompt_too_large` */
export function checkPrompt(prompt: string): void {
  if (prompt.trim() === '') {
    throw new AttemptError('prompt_empty', 'the prompt is empty: give a text, or - to read it from standard input');
  }
  // Only a text that could be over the limit is counted: code points are at most as many as UTF-16 units.
  if (prompt.length <= TURN_INPUT_LIMIT) return;
  let actual = 0;
  for (const _ of prompt) actual += 1;
  if (actual > TURN_INPUT_LIMIT) {
    throw new AttemptError(
      'prompt_too_large',
      `the prompt has ${actual} characters; Codex takes at most ${TURN_INPUT_LIMIT} in one turn`,
      { data: { limit: TURN_INPUT_LIMIT, actual } },
    );
  }
}
