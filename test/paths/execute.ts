import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
  fromPromise,
  SimulatedClock,
} from 'xstate';
import type { Coverage } from './coverage.ts';
import { actorOf, type Edge, effectOf, identityOf, type Path } from './generate.ts';
import { type MachineSuite, stateId } from './suite.ts';

/** One invocation of an actor during a run. */
export interface Invocation {
  actor: string;
  input: unknown;
  /** Index of the step that began it; -1 at the start. */
  step: number;
  /** Events that its parent sent to it, with the index of the step. */
  told: { event: EventObject; step: number }[];
  ended: 'done' | 'error' | null;
  /** It was stopped by its parent before it ended. */
  stopped: boolean;
}

/** The actors that a path runs with. */
export interface PathActors {
  /** By actor name; every actor of the machine must be there. */
  logic: Readonly<Record<string, AnyActorLogic>>;
  /** Makes the running invocation of an actor end as the event (`xstate.done.actor.X`, `xstate.error.actor.X`) says. */
  end(actor: string, event: EventObject): void;
  /** Resolves when what `end`, an event or the clock has set off has come to rest. */
  rest(): Promise<void>;
  /** Invocations that neither ended nor had their signal aborted. */
  live(): readonly string[];
}

/** What happened on one path. */
export interface Run {
  path: Path;
  /** The snapshot at the start and after each step. */
  snapshots: readonly AnyMachineSnapshot[];
  invocations: readonly Invocation[];
  /** What ran on after the end. */
  live: readonly string[];
  /** Where the machine left the path, or null. */
  mismatch: string | null;
}

/** Simulated milliseconds: of a timer that the path lets run out, and of one that it does not. */
const SHORT = 1_000;
const LONG = 1_000_000_000;

const macrotask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/**
 * Actors that do nothing until the path ends them: one deferred per invocation. They take any event, as the child
 * machines take INTERRUPT. `rest` defaults to one macrotask.
 */
export function deferredActors(suite: MachineSuite, rest: () => Promise<void> = macrotask): PathActors {
  interface Deferred {
    actor: string;
    signal: AbortSignal;
    settled: boolean;
    resolve(output: unknown): void;
    reject(error: unknown): void;
  }
  const deferreds: Deferred[] = [];
  const deferred = (actor: string) =>
    fromPromise(
      ({ signal }) =>
        new Promise((resolve, reject) => {
          deferreds.push({ actor, signal, settled: false, resolve, reject });
        }),
    );
  return {
    logic: Object.fromEntries(Object.keys(suite.machine.implementations.actors).map((name) => [name, deferred(name)])),
    end(actor, event) {
      const running = deferreds.filter((one) => one.actor === actor && !one.settled && !one.signal.aborted);
      const [only, ...more] = running;
      if (only === undefined || more.length > 0)
        throw new Error(`${running.length} invocations of ${actor} are running`);
      only.settled = true;
      if ('error' in event) only.reject(event.error);
      else only.resolve('output' in event ? event.output : undefined);
    },
    rest,
    live: () => deferreds.filter((one) => !one.settled && !one.signal.aborted).map((one) => one.actor),
  };
}

/** What is known of one run while it lasts. */
interface RunState {
  actors: PathActors;
  invocations: Invocation[];
  snapshots: AnyMachineSnapshot[];
}

/**
 * The machine with actors that stand for those of whichever run they are invoked in, and note each invocation:
 * `provide` costs more than a whole run, so it is done once.
 */
function delegating(machine: AnyStateMachine) {
  const states = new WeakMap<object, RunState>();
  const invocations = new WeakMap<object, Invocation>();
  let beginning: RunState | null = null;
  const stateOf = (system: object): RunState => {
    const state = states.get(system) ?? beginning;
    if (state === null) throw new Error('this actor belongs to no run');
    return state;
  };
  const stand = (name: string): AnyActorLogic => {
    const logicOf = (system: object): AnyActorLogic => {
      const logic = stateOf(system).actors.logic[name];
      if (logic === undefined) throw new Error(`the run has no actor ${name}`);
      return logic;
    };
    return {
      getInitialSnapshot: (scope, input) => logicOf(scope.system).getInitialSnapshot(scope, input),
      start: (snapshot, scope) => {
        const { invocations: all, snapshots } = stateOf(scope.system);
        const input = 'input' in snapshot ? snapshot.input : undefined;
        const step = snapshots.length - 1;
        const invocation: Invocation = { actor: name, input, step, told: [], ended: null, stopped: false };
        invocations.set(scope.self, invocation);
        all.push(invocation);
        logicOf(scope.system).start?.(snapshot, scope);
      },
      transition: (snapshot, event, scope) => {
        const next = logicOf(scope.system).transition(snapshot, event, scope);
        const invocation = invocations.get(scope.self);
        if (invocation === undefined) return next;
        if (event.type === 'xstate.stop') invocation.stopped = true;
        else if (!event.type.startsWith('xstate.')) {
          invocation.told.push({ event, step: stateOf(scope.system).snapshots.length - 1 });
        }
        if (next.status === 'done' || next.status === 'error') invocation.ended = next.status;
        return next;
      },
      getPersistedSnapshot: (snapshot) => snapshot,
    };
  };
  const names = Object.keys(machine.implementations.actors);
  return {
    machine: machine.provide({ actors: Object.fromEntries(names.map((name) => [name, stand(name)])) }),
    /** `create` makes the root actor of the run; its first children are made with it, before its system is known. */
    begin<Root extends AnyActorRef>(state: RunState, create: () => Root): Root {
      beginning = state;
      const root = create();
      beginning = null;
      states.set(root.system, state);
      return root;
    },
  };
}

const delayOf = (edge: Edge): string | null =>
  edge.label.startsWith('after ') ? edge.label.slice('after '.length) : null;

/** The input of a path: budgets are short where the path lets them run out, and too long to matter elsewhere. */
function inputOf({ suite, input, steps }: Path): object {
  if (!('budgets' in input.input)) return input.input;
  const short = new Set(steps.flatMap((edge) => delayOf(edge) ?? []).map((delay) => suite.delays[delay]));
  const names = Object.keys(input.input.budgets as object);
  return { ...input.input, budgets: Object.fromEntries(names.map((name) => [name, short.has(name) ? SHORT : LONG])) };
}

/** Runs paths of one machine. */
export type Executor = (path: Path, actors: PathActors) => Promise<Run>;

/**
 * Makes the executor of a machine. It runs the machine along a path: each step ends an actor, lets a timer run out or
 * sends an event, waits until things are at rest, and compares where the machine is, and what the step did, with what
 * the path expects. It stops at the first difference. Never rejects for a fault of the machine.
 */
export function createExecutor(suite: MachineSuite, coverage?: Coverage): Executor {
  const { machine, begin } = delegating(coverage?.machine ?? suite.machine);
  return async (path, actors) => {
    const clock = new SimulatedClock();
    const state: RunState = { actors, invocations: [], snapshots: [] };
    let broken: unknown = null;
    const actor = begin(state, () =>
      createActor(machine, {
        input: inputOf(path),
        clock,
        inspect: (event) => {
          if (event.type !== '@xstate.microstep' || event.actorRef.sessionId !== event.rootId) return;
          coverage?.microstep(event.snapshot as AnyMachineSnapshot, event._transitions);
        },
      }),
    );
    actor.subscribe({
      error: (error) => {
        broken = error;
      },
    });
    const rest = async (): Promise<AnyMachineSnapshot> => {
      await actors.rest();
      const snapshot = actor.getSnapshot() as AnyMachineSnapshot;
      state.snapshots.push(snapshot);
      return snapshot;
    };
    const finish = (mismatch: string | null): Run => {
      const live = actors.live();
      actor.stop();
      return { path, snapshots: state.snapshots, invocations: state.invocations, live, mismatch };
    };
    actor.start();
    let before = await rest();
    if (broken !== null) return finish(`start: the machine broke: ${String(broken)}`);
    coverage?.microstep(before, []);
    for (const [index, step] of path.steps.entries()) {
      const where = `step ${index + 1}, ${step.label} in ${step.state}`;
      const ended = actorOf(step.event.type);
      try {
        if (ended !== null) actors.end(ended, step.event);
        else if (delayOf(step) !== null) clock.increment(SHORT);
        else actor.send(step.event);
      } catch (error) {
        return finish(`${where}: ${String(error)}`);
      }
      const snapshot = await rest();
      if (broken !== null) return finish(`${where}: the machine broke: ${String(broken)}`);
      const identity = identityOf(suite, path.input.input, snapshot);
      if (identity !== step.identity) return finish(`${where}: expected ${step.identity}; found ${identity}`);
      const effect = effectOf(suite, before, snapshot);
      if (effect !== step.effect) return finish(`${where}: expected the effect (${step.effect}); found (${effect})`);
      before = snapshot;
    }
    coverage?.path(path);
    return finish(before.status === 'done' ? null : `the path ends in ${stateId(before.value)}, which is not final`);
  };
}
