import { AttemptError } from '../errors.ts';
import type { HookContext, Hooks, NotifyHookName } from '../ports.ts';
import { type AttemptRecord, bounded, degrade, sessionIdOf, sessionKeyOf } from './record.ts';

export function hookContextOf(record: AttemptRecord): HookContext {
  const { params, slots } = record;
  return {
    attemptId: params.attemptId,
    sessionId: sessionIdOf(record),
    sessionKey: sessionKeyOf(record),
    cwd: params.cwd,
    modelId: slots.thread?.model || (params.model ?? ''),
    provider: params.provider,
    ...(slots.thread === undefined ? {} : { threadId: slots.thread.threadId }),
    ...(slots.turn?.turnId == null ? {} : { turnId: slots.turn.turnId }),
  };
}

/**
 * Tells hooks that something happens. Bounded by `ms`, default the hooks budget; a hook that throws or hangs is written down as a
 * degradation and never costs the turn (spec E1). Rejects only when `signal` aborts.
 */
export async function runNotifyHook(
  record: AttemptRecord,
  state: string,
  name: NotifyHookName,
  signal: AbortSignal,
  event: Parameters<Hooks['notify']>[1],
  ms: number = record.params.budgets.hooks,
): Promise<void> {
  const { hooks, clock, trace } = record.services;
  if (!hooks.has(name)) return;
  const from = clock.now();
  // The hooks' own signal aborts when the budget runs out, so that a hook that listens can stop.
  const budget = new AbortController();
  const both = AbortSignal.any([signal, budget.signal]);
  try {
    const outcome = await bounded(hooks.notify(name, event, hookContextOf(record), both), {
      clock,
      ms,
      signal,
      error: () => new AttemptError('budget_hooks', `the ${name} hooks took longer than ${ms} ms`),
    });
    for (const failure of outcome.failures) {
      degrade(record, state, 'hook_failed', `hook ${failure.name} failed: ${failure.message}`);
    }
    trace.emit({ type: 'hook.call', hook: name, durationMs: clock.now() - from, ok: outcome.failures.length === 0 });
  } catch (error) {
    budget.abort();
    trace.emit({ type: 'hook.call', hook: name, durationMs: clock.now() - from, ok: false });
    if (signal.aborted) throw error;
    degrade(record, state, error instanceof AttemptError ? error.code : 'hook_failed', error);
  }
}
