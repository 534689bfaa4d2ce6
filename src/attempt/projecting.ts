import type { ProjectOutput } from '../../machines/attempt-types.ts';
import { redact } from '../observe/redact.ts';
import { capsOfChars, PROJECTION_DEFAULTS, type ProjectionCaps, projectionCaps } from '../projection/budget.ts';
import {
  type ProjectedPrompt,
  projectContextEngineAssemblyForCodex,
  projectContinuity,
  projectForeignRows,
} from '../projection/text.ts';
import { promptKey, readMirroredSessionHistoryMessages } from '../transcript/mirror.ts';
import { type AttemptRecord, degrade, historyOf, type ThreadPlan } from './record.ts';
import { engineIdentity, foreignEntries, planThread } from './thread-plan.ts';

/**
 * `projecting` (spec 2.5, P7): decides resume or start, then turns the assembly into prompt text. The plan is put down
 * before the text is made: a failed projection still runs on the right thread, with the original prompt.
 */
export async function project(record: AttemptRecord): Promise<ProjectOutput> {
  delete record.slots.projection;
  delete record.slots.build;
  const { params, services, slots } = record;
  const { freshThreadTries, overflowTries } = record.machine();
  const planFor = (promptChars: number): ThreadPlan =>
    planThread({
      binding: slots.binding ?? null,
      toolFingerprint: slots.tools?.fingerprint ?? '',
      engine: services.engine === null ? null : engineIdentity(services.engine, params),
      assembly: slots.assembly ?? null,
      promptChars,
      entries: historyOf(record).view.entries,
      forceStart: freshThreadTries > 0 || overflowTries > 0,
    });
  let plan = planFor(params.prompt.length);
  slots.plan = plan;
  let projection: ProjectedPrompt;
  try {
    projection = projectText(record, plan);
    const fitting = planFor(projection.promptText.length);
    if (fitting.kind !== plan.kind) {
      // With its projection the turn does not fit into the bound thread any more.
      plan = fitting;
      slots.plan = plan;
      projection = projectText(record, plan);
    }
  } catch (error) {
    // The original prompt goes out (spec P5), on the planned thread, which then does not hold the new epoch's context.
    slots.plan = { ...plan, epoch: plan.bound?.epoch ?? null };
    degrade(record, 'projecting', 'projection_failed', error);
    return { thread: plan.kind };
  }
  slots.projection = projection;
  const { contextChars } = projection.clipped;
  if (contextChars > 0 && (slots.assembly ?? null) !== null) {
    const message = `${contextChars} characters of the assembled context did not fit and were left out, the oldest first`;
    record.emit({ type: 'attempt.notice', message });
  }
  services.logger.debug('codex context engine projection decided', {
    attemptId: params.attemptId,
    thread: plan.kind,
    reason: plan.reason,
    promptChars: projection.promptText.length,
    clippedChars: projection.clipped.contextChars,
  });
  services.trace.emit({
    type: 'projection',
    thread: plan.kind,
    reason: plan.reason,
    promptChars: projection.promptText.length,
    clippedChars: projection.clipped.contextChars,
    clippedMessages: projection.clipped.messages,
  });
  return { thread: plan.kind };
}

/** The engine was promised the whole budget for its messages; the lines that name their roles come on top. */
function engineCaps(tokenBudget: number, messages: number): ProjectionCaps {
  return capsOfChars(tokenBudget * PROJECTION_DEFAULTS.charsPerToken + messages * ROLE_LINE_CHARS);
}

/** `[assistant]`, the line breaks around it, and a blank line. */
const ROLE_LINE_CHARS = 16;

function projectText(record: AttemptRecord, plan: ThreadPlan): ProjectedPrompt {
  const { prompt, attemptId, tokenBudget } = record.params;
  const history = historyOf(record);
  const caps = projectionCaps({ tokenBudget });
  const assembly = record.slots.assembly ?? null;
  const foreign = () =>
    projectForeignRows({
      rows: readMirroredSessionHistoryMessages({
        entries: plan.bound === null ? [] : foreignEntries(history.view.entries, plan.bound),
        leafId: history.view.leafId,
      }),
      prompt,
      caps,
      redact,
    });

  if (assembly === null) {
    // No engine, or one that did not answer: as Codex without an engine (spec 13).
    return plan.kind === 'resume' ? foreign() : projectContinuity({ history: history.messages, prompt, caps, redact });
  }
  // On a bound thread an epoch means that the thread holds the context already, also when the engine says nothing of
  // it this time (spec P7).
  if (plan.kind === 'resume' && plan.epoch !== null) return foreign();
  return projectContextEngineAssemblyForCodex({
    assembledMessages: assembly.messages,
    originalHistoryMessages: history.messages,
    prompt,
    promptKey: promptKey(attemptId),
    caps: engineCaps(tokenBudget, assembly.messages.length),
    toolPayload: assembly.contextProjection === undefined ? 'elide' : 'preserve',
    redact,
  });
}
