import {
  type AnyActorLogic,
  type AnyMachineSnapshot,
  createActor,
  type EventObject,
  fromPromise,
  SimulatedClock,
} from 'xstate';
import { type Coverage, watchMicrosteps } from './coverage.ts';
import { delegating, type RunState } from './delegating.ts';
import { actorOf, type Path } from './generate.ts';
import { delayOf, type MachineSuite } from './suite.ts';
import { type Run, walk } from './walk.ts';

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

/** Simulated milliseconds: of a timer that the path lets run out, and of one that it does not. */
const SHORT = 1_000;
const LONG = 1_000_000_000;

/** Lets a timer run out that the path wants to. */
export const DUE = SHORT;

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

/** The budgets of a path: short where the path lets them run out, and too long to matter elsewhere. */
export function budgetsOf({ suite, input, steps }: Path): Record<string, number> {
  const short = new Set(steps.flatMap((step) => delayOf(step) ?? []).map((delay) => suite.delays[delay]));
  const names = Object.keys('budgets' in input.input ? (input.input.budgets as object) : {});
  // No two long ones are alike: who is given another's budget is found out.
  return Object.fromEntries(names.map((name, index) => [name, short.has(name) ? SHORT : LONG + index]));
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
    const state: RunState = { logic: actors.logic, invocations: [], snapshots: [] };
    const { input } = path.input;
    let broken: unknown = null;
    const actor = begin(state, () =>
      createActor(machine, {
        input: 'budgets' in input ? { ...input, budgets: budgetsOf(path) } : input,
        clock,
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
        take: (step) => {
          const ended = actorOf(step.event.type);
          if (ended !== null) actors.end(ended, step.event);
          else if (delayOf(step) !== null) clock.increment(DUE);
          else actor.send(step.event);
        },
        rest: async () => {
          await actors.rest();
          return actor.getSnapshot() as AnyMachineSnapshot;
        },
        broken: () => broken,
      },
      state.snapshots,
    );
    const live = actors.live();
    actor.stop();
    const [first] = state.snapshots;
    if (first !== undefined) coverage?.microstep(first, []);
    if (mismatch === null) coverage?.path(path);
    return { path, snapshots: state.snapshots, invocations: state.invocations, live, mismatch };
  };
}
