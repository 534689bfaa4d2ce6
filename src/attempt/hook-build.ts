import { AttemptError } from '../errors.ts';
import type { PromptBuildResult } from '../ports.ts';
import { fitTurnInput } from '../projection/fit.ts';
import { hookContextOf } from './hook-calls.ts';
import { type AttemptRecord, type BuildSlot, historyOf } from './record.ts';

/** Base instructions, then the engine's addition, one blank line between (spec 2.7). Empty parts leave no trace. */
export function buildDeveloperInstructions(base: string, addition: string | undefined): string {
  return joinBlocks(base, addition);
}

/** What Codex gets when no hook has a say: also the fallback when the hooks fail as a whole. */
export function baselineBuild(record: AttemptRecord): BuildSlot {
  return {
    promptText: fitted(record, {}),
    developerInstructions: buildDeveloperInstructions(
      record.params.developerInstructions,
      record.slots.assembly?.systemPromptAddition,
    ),
  };
}

/**
 * `hook-build` (spec 2.6): hooks get the projected prompt and instructions, that is, what Codex would get. The result
 * is fitted to the input limit, the user's own words whole first. A hook that throws costs only its own contribution.
 */
export async function buildPrompt(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const baseline = baselineBuild(record);
  record.slots.build = baseline;
  const { hooks, clock, trace } = record.services;
  if (!hooks.has('before_prompt_build')) return;

  const from = clock.now();
  const outcome = await hooks.beforePromptBuild(
    {
      prompt: baseline.promptText,
      developerInstructions: baseline.developerInstructions,
      messages: historyOf(record).messages,
    },
    hookContextOf(record),
    signal,
  );
  trace.emit({
    type: 'hook.call',
    hook: 'before_prompt_build',
    durationMs: clock.now() - from,
    ok: outcome.failures.length === 0,
  });
  if (signal.aborted) return;
  record.slots.build = applyHooks(record, baseline, outcome.value);
  const [failure] = outcome.failures;
  if (failure !== undefined) {
    const others = outcome.failures.length > 1 ? ` (and ${outcome.failures.length - 1} more)` : '';
    throw new AttemptError('hook_failed', `hook ${failure.name} failed: ${failure.message}${others}`);
  }
}

function applyHooks(record: AttemptRecord, baseline: BuildSlot, result: PromptBuildResult): BuildSlot {
  return {
    promptText: fitted(record, result),
    developerInstructions: joinBlocks(
      result.prependSystemContext,
      baseline.developerInstructions,
      result.appendSystemContext,
    ),
  };
}

/** The projection, or the bare prompt when there is none (spec P5), with what hooks put around it, within the limit. */
function fitted(record: AttemptRecord, { prependContext, appendContext }: PromptBuildResult): string {
  const { prompt } = record.params;
  const { promptText, ranges } = record.slots.projection ?? {
    promptText: prompt,
    ranges: { context: null, request: { start: 0, end: prompt.length } },
  };
  const { text, clipped } = fitTurnInput({
    text: promptText,
    ranges,
    hookPrefix: prependContext,
    hookSuffix: appendContext,
  });
  if (clipped.hookChars > 0) {
    const message = `${clipped.hookChars} characters that hooks added were left out: the input limit of Codex is reached`;
    record.emit({ type: 'attempt.notice', message });
  }
  return text;
}

function joinBlocks(...blocks: (string | undefined)[]): string {
  const filled = blocks.filter((block) => block !== undefined && block.trim() !== '');
  // One blank line between them, whatever blanks they bring; a single one stays as it is (spec T3).
  return filled.length === 1 ? (filled[0] ?? '') : filled.map((block) => block?.trim()).join('\n\n');
}
