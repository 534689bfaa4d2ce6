import { randomUUID } from 'node:crypto';
import { type ActorRefFrom, createActor, type InspectionEvent } from 'xstate';
import type { AttemptOutput } from '../../machines/attempt-types.ts';
import {
  type AttemptContext,
  type AttemptOutcome,
  attemptMachine,
  defaultBudgets,
  type EngineFacts,
} from '../../machines/index.ts';
import { maintenanceLane } from '../engine/background.ts';
import type { ContextEngine } from '../engine/contract.ts';
import { missingMembers } from '../engine/engine-shape.ts';
import { isActiveEngine } from '../engine/legacy.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { HookRegistry } from '../hooks/registry.ts';
import { redact } from '../observe/redact.ts';
import { silentLogger } from '../observe/silent.ts';
import type { TraceSink } from '../ports.ts';
import { systemClock } from '../system-clock.ts';
import { attemptActors } from './actors.ts';
import { checkAttempt } from './check-attempt.ts';
import {
  type AttemptRecord,
  dropRecord,
  hasRecord,
  keepRecord,
  type ResolvedParams,
  type ResolvedServices,
} from './record.ts';
import { settle } from './settling.ts';
import { watchStates } from './state-watch.ts';
import type { AttemptHandle, AttemptParams, AttemptResult, AttemptRunEvent, AttemptServices } from './types.ts';

/** The attempt machine with its work. Made once per process: `provide` rebuilds the whole chart. */
const production: AttemptRuntime = { machine: attemptMachine.provide({ actors: attemptActors }) };

/**
 * Runs one attempt: one prompt, one Codex turn, with the engine around it (spec 2).
 *
 * The caller owns the services and closes them after `handle.result`, which settles exactly once and does not reject
 * for a failed turn.
 * @throws AttemptError for input that no attempt can be made of: `prompt_empty`, `prompt_too_large`, `usage`,
 * `engine_invalid`, `engine_requirements`. Nothing is written then.
 */
export function runAttempt(params: AttemptParams, services: AttemptServices): AttemptHandle {
  return startAttempt(resolveParams(params, 'turn'), services);
}

/** The plan's name for `runAttempt` (spec 14). */
export const runCodexAppServerAttempt = runAttempt;

/** The way of a compaction through the machine: bootstrap, then `compacting`. Used by `compactSession`. */
export function startCompaction(
  params: Omit<AttemptParams, 'prompt'> & { customInstructions?: string },
  services: AttemptServices,
): AttemptHandle {
  const resolved = resolveParams({ ...params, prompt: '' }, 'compact');
  return startAttempt({ ...resolved, customInstructions: params.customInstructions ?? null }, services);
}

/** The machine that an attempt runs on. Only tests have another one: the same chart with actors that they can hold. */
export interface AttemptRuntime {
  machine: typeof attemptMachine;
  inspect?: (event: InspectionEvent) => void;
  /** Is given the machine before it starts. */
  made?: (actor: ActorRefFrom<typeof attemptMachine>) => void;
}

/** `runAttempt` or `startCompaction` on the machine of a test. Not part of the package's surface. */
export function startAttemptOn(
  runtime: AttemptRuntime,
  request: 'turn' | 'compact',
  params: AttemptParams,
  services: AttemptServices,
): AttemptHandle {
  return startAttempt(resolveParams(params, request), services, runtime);
}

function startAttempt(
  params: ResolvedParams,
  given: AttemptServices,
  { machine, inspect, made }: AttemptRuntime = production,
): AttemptHandle {
  const services = resolveServices(given);
  checkAttempt(params, services);
  if (hasRecord(params.attemptId)) {
    throw new AttemptError('usage', `an attempt with the id ${params.attemptId} is already under way`);
  }

  const listeners = new Set<(event: AttemptRunEvent) => void>();
  const controller = new AbortController();
  const hurry = new AbortController();
  const emit = (event: AttemptRunEvent): void => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        services.logger.warn('an event listener threw', {
          attemptId: params.attemptId,
          error: redact(messageOf(error)),
        });
      }
    }
  };

  const actor = createActor(machine, {
    id: 'attempt',
    input: {
      attemptId: params.attemptId,
      request: params.request,
      engine: engineFacts(services.engine),
      budgets: params.budgets,
    },
    clock: services.clock,
    ...(inspect === undefined ? {} : { inspect }),
  });
  made?.(actor);
  const record: AttemptRecord = {
    params,
    services,
    controller,
    hurry: hurry.signal,
    startedAt: services.clock.now(),
    slots: {},
    machine: (): AttemptContext => actor.getSnapshot().context,
    loose: new Set(),
    degraded: [],
    emit,
  };
  keepRecord(record);

  const result = new Promise<AttemptResult>((resolve, reject) => {
    const states = watchStates(actor, record);
    const end = (outcome: AttemptOutcome, output: AttemptOutput): void => {
      settle(record, outcome, output, states).then(resolve, reject);
    };
    actor.subscribe({
      next: (snapshot) => {
        if (snapshot.context.stop === 'abort') hurry.abort();
        if (snapshot.status === 'done' && snapshot.output !== undefined) {
          end(snapshot.value as AttemptOutcome, snapshot.output);
        }
      },
      // A broken machine leaves its children running (xstate issue 5153): the attempt's own controller ends them.
      error: (error) => {
        controller.abort();
        const cause = { code: 'internal', message: redact(messageOf(error)) };
        const { degraded, compaction, finalization, maintenance } = record.machine();
        end('failed', { outcome: 'failed', cause, degraded, compaction, finalization, maintenance });
      },
    });
    services.trace.emit({ type: 'attempt.start', request: params.request, engineId: services.engine?.info.id ?? null });
    // In the next macrotask, so that the caller can add listeners first and miss nothing.
    setImmediate(() => actor.start());
  }).finally(() => {
    controller.abort();
    dropRecord(params.attemptId);
  });

  return {
    attemptId: params.attemptId,
    result,
    abort() {
      // A machine that has ended would complain on the console.
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'ABORT' });
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function engineFacts(engine: ContextEngine | null): EngineFacts | null {
  if (engine === null) return null;
  return {
    bootstrap: typeof engine.bootstrap === 'function',
    maintain: typeof engine.maintain === 'function',
    ownsCompaction: engine.info.ownsCompaction === true,
  };
}

function resolveParams(params: AttemptParams, request: 'turn' | 'compact'): ResolvedParams {
  const budgets = { ...defaultBudgets, ...params.budgets };
  return {
    prompt: params.prompt,
    cwd: params.cwd,
    attemptId: params.attemptId ?? randomUUID(),
    sessionKey: params.sessionKey ?? null,
    agentId: params.agentId ?? 'main',
    model: params.model ?? null,
    provider: params.provider ?? 'openai',
    sandbox: params.sandbox ?? 'read-only',
    tokenBudget: params.tokenBudget ?? DEFAULT_TOKEN_BUDGET,
    developerInstructions: params.developerInstructions ?? '',
    citationsMode: params.citationsMode ?? null,
    isHeartbeat: params.isHeartbeat ?? false,
    budgets: { ...budgets, execution: budgets.execution === 0 ? Number.POSITIVE_INFINITY : budgets.execution },
    realm: params.realm ?? 'live',
    request,
    customInstructions: null,
  };
}

/** Tokens that an engine may fill when the caller does not say. */
export const DEFAULT_TOKEN_BUDGET = 128_000;

const noTrace: TraceSink = { emit: () => {}, close: async () => {} };

function resolveServices(services: AttemptServices): ResolvedServices {
  const { engine = null } = services;
  const missing = engine === null ? [] : missingMembers(engine);
  if (missing.length > 0)
    throw new AttemptError('engine_invalid', `this is no context engine: it lacks ${missing.join(', ')}`);
  return {
    appServer: services.appServer,
    session: services.session,
    engine: isActiveEngine(engine) ? engine : null,
    hooks: services.hooks ?? new HookRegistry(redact),
    tools: services.tools ?? [],
    completion: services.completion ?? null,
    logger: services.logger ?? silentLogger,
    trace: services.trace ?? noTrace,
    clock: services.clock ?? systemClock,
    lane: maintenanceLane(services.session.transcript.sessionFile),
  };
}
