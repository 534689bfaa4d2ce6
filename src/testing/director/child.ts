import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from 'xstate';
import { defaultBudgets, type EngineFacts } from '../../../machines/attempt-types.ts';
import type { AttemptContext } from '../../../machines/index.ts';
import { type AttemptRecord, dropRecord, keepRecord } from '../../attempt/record.ts';
import { maintenanceLane } from '../../engine/background.ts';
import { quiet } from '../controlled/clock.ts';
import type { ControlledClient } from '../controlled/codex.ts';
import type { ControlledCall } from '../controlled/script.ts';
import { type Controlled, controlledServices } from '../controlled/services.ts';
import { bindingOf } from '../controlled/session.ts';
import { type Coverage, watchMicrosteps } from '../paths/coverage.ts';
import { delegating, type RunState } from '../paths/delegating.ts';
import { budgetsOf } from '../paths/execute.ts';
import type { Path } from '../paths/generate.ts';
import type { MachineSuite, PathStep } from '../paths/suite.ts';
import { type Run, walk } from '../paths/walk.ts';
import { sameEffect } from './same-effect.ts';
import { BOUND_THREAD } from './scene.ts';

/** The ports of one run of a child machine, and the record of the attempt that it stands in. */
export interface ChildScene {
  path: Path;
  controlled: Controlled;
  client: ControlledClient;
  /** What the attempt's machine would say of a stop. */
  stop: 'abort' | 'deadline' | null;
  send(event: EventObject): void;
  /** The step happened although nothing outside can bring it about. */
  madeUp(): void;
}

export interface ChildRun extends Run {
  calls: readonly ControlledCall[];
  /** Indices of steps that nothing outside can bring about. */
  forced: readonly number[];
  controlled: Controlled;
}

/** Makes the steps of a child machine happen by what its ports do. */
export type ChildSteps = (scene: ChildScene) => {
  /** Called before the machine starts. */
  prepare(): void;
  /** Work that is held until its step comes. Default: none. */
  held?: RunState['logic'];
  take(step: PathStep): void | Promise<void>;
};

let runs = 0;

/**
 * Makes an executor that runs a child machine with its real work along the paths of its suite, on controlled ports, in
 * an attempt that has got as far as that.
 */
export function createChildExecutor(
  suite: MachineSuite,
  real: AnyStateMachine,
  steps: ChildSteps,
  coverage?: Coverage,
): (path: Path) => Promise<ChildRun> {
  // The real actors, on the chart of the suite: its guards may be watched.
  const actors = real.implementations.actors as RunState['logic'];
  const { machine, begin } = delegating(coverage?.machine ?? suite.machine);
  return async (path) => {
    runs += 1;
    const attemptId = `child-${runs}`;
    const { ownsCompaction = false } = path.input.input as { ownsCompaction?: boolean };
    const controlled = controlledServices({
      sessionFile: `/controlled/${attemptId}/session.jsonl`,
      binding: bindingOf(),
      engine: { info: { ownsCompaction } },
    });
    const record = recordFor(attemptId, controlled, ownsCompaction);
    const forced: number[] = [];
    const scene: ChildScene = {
      path,
      controlled,
      client: controlled.codex.client(),
      stop: null,
      send: (event) => actor.send(event),
      madeUp: () => void forced.push(index),
    };
    record.slots.client = scene.client;
    record.machine = () => ({ ...contextFor(ownsCompaction), stop: scene.stop });
    keepRecord(record);
    let index = 0;
    let broken: unknown = null;
    const { prepare, take, held = {} } = steps(scene);
    prepare();
    const state: RunState = { logic: { ...actors, ...held }, invocations: [], snapshots: [] };
    const actor = begin(state, () =>
      createActor(machine, {
        input: { ...path.input.input, attemptId, budgets: budgetsOf(path) },
        clock: controlled.clock,
        inspect: watchMicrosteps(coverage),
      }),
    );
    actor.subscribe({
      error: (error) => {
        broken = error;
      },
    });
    actor.start();
    const mismatch = await walk(
      suite,
      path,
      {
        async take(step, at) {
          index = at;
          await take(step);
        },
        async rest() {
          await quiet();
          return actor.getSnapshot() as AnyMachineSnapshot;
        },
        broken: () => broken,
        // A failed turn is always told with a reason, which is the one that the machine would give it.
        sameEffect: (expected, found) =>
          sameEffect(expected, found) || found.replace(', fault=turn_failed', '') === expected,
      },
      state.snapshots,
    );
    record.controller.abort();
    actor.stop();
    await quiet();
    dropRecord(attemptId);
    const [first] = state.snapshots;
    if (first !== undefined) coverage?.microstep(first, []);
    if (mismatch === null) coverage?.path(path);
    const { invocations, snapshots } = state;
    const live = invocations.filter(({ ended, stopped }) => ended === null && !stopped).map(({ actor: name }) => name);
    return { path, snapshots, invocations, live, mismatch, calls: controlled.script.calls, forced, controlled };
  };
}

type OwnRecord = { -readonly [Key in keyof AttemptRecord]: AttemptRecord[Key] };

/** The record of an attempt that has a thread and a process. */
function recordFor(attemptId: string, { services }: Controlled, ownsCompaction: boolean): OwnRecord {
  return {
    params: {
      prompt: 'hello',
      cwd: '/controlled/work',
      attemptId,
      sessionKey: null,
      agentId: 'main',
      model: null,
      provider: 'openai',
      sandbox: 'read-only',
      tokenBudget: 128_000,
      developerInstructions: '',
      citationsMode: null,
      isHeartbeat: false,
      budgets: { ...defaultBudgets, request: LONGER, drain: LONGER, hooks: LONGER, threadStart: LONGER },
      realm: 'live',
      request: 'turn',
      customInstructions: null,
    },
    services: {
      appServer: services.appServer,
      session: services.session,
      engine: services.engine ?? null,
      hooks: services.hooks ?? missing('hooks'),
      tools: [],
      completion: null,
      logger: services.logger ?? missing('logger'),
      trace: services.trace ?? missing('trace'),
      clock: services.clock ?? missing('clock'),
      lane: maintenanceLane(services.session.transcript.sessionFile),
    },
    controller: new AbortController(),
    hurry: new AbortController().signal,
    startedAt: 0,
    slots: {
      opened: { existed: true, sessionId: 'session-1', notices: [] },
      thread: { threadId: BOUND_THREAD, model: 'gpt-test', instructionsHash: '' },
      binding: bindingOf(),
      tools: { tools: CHILD_TOOLS, specs: [], fingerprint: '', names: new Set() },
    },
    machine: () => contextFor(ownsCompaction),
    loose: new Set(),
    degraded: [],
    emit: () => {},
  };
}

/** Longer than what a path lets run out: whoever waits for a port waits longer than the machine. */
const LONGER = 100_000_000_000;

const CHILD_TOOLS = [
  {
    name: 'pause',
    description: 'ends the turn by yielding',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ text: 'later', yield: true }),
  },
];

function contextFor(ownsCompaction: boolean): AttemptContext {
  const engine: EngineFacts = { bootstrap: true, maintain: true, ownsCompaction };
  return {
    attemptId: '',
    request: 'compact',
    engine,
    budgets: defaultBudgets,
    hadSessionFile: true,
    thread: 'resume',
    freshThreadTries: 0,
    overflowTries: 0,
    outcome: null,
    stop: null,
    cause: null,
    compaction: null,
    finalization: null,
    maintenance: null,
    degraded: [],
  };
}

function missing(name: string): never {
  throw new Error(`a run needs ${name}`);
}
