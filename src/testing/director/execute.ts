import type { ActorRefFrom, AnyMachineSnapshot } from 'xstate';
import type { attemptMachine } from '../../../machines/index.ts';
import { startAttemptOn } from '../../attempt/run-attempt.ts';
import type { AttemptHandle, AttemptParams, AttemptResult } from '../../attempt/types.ts';
import type { ControlledCall } from '../controlled/script.ts';
import { type Coverage, watchMicrosteps } from '../paths/coverage.ts';
import { delegating, type Invocation, type RunState } from '../paths/delegating.ts';
import { budgetsOf, DUE } from '../paths/execute.ts';
import type { Path } from '../paths/generate.ts';
import type { MachineSuite } from '../paths/suite.ts';
import { type Run, walk } from '../paths/walk.ts';
import type { ChildPlay } from './child-play.ts';
import { Director, type ForcedStep } from './director.ts';
import { sameEffect } from './same-effect.ts';
import { createScene, paramsOf, requestOf, type Scene, type SceneOptions } from './scene.ts';

/** A path that the real work of an attempt was led along. */
export interface DirectedRun extends Run {
  scene: Scene;
  /** What the attempt came to; null: it did not end. */
  result: AttemptResult | null;
  /** Every call of a port, in order. */
  calls: readonly ControlledCall[];
  /** How many calls there were before each step. */
  callsBefore: readonly number[];
  /** What no port can bring about, and was made to happen all the same. */
  forced: readonly ForcedStep[];
}

/** What a run is made with. */
export interface Stage {
  scene: Scene;
  /** How turns and compactions are played. Default: on the controlled app-server. */
  plays?: Readonly<Record<'turn' | 'compaction', ChildPlay>>;
  /** More of the attempt's params. */
  params?: Partial<AttemptParams>;
}

export type DirectedExecutor = (path: Path, options?: SceneOptions) => Promise<DirectedRun>;

/** Rounds in which an attempt whose machine has ended must come to its result. Each lets all waiting timers run out. */
const SETTLING_ROUNDS = 10;
const EVERYTHING = 10_000_000_000;

let runs = 0;

/**
 * Makes an executor that runs whole attempts along the paths of the attempt machine: the real work of every state, on
 * ports that do what each step says. Compares as `createExecutor` does. Never rejects for a fault of machine or work.
 */
export function createDirectedExecutor(
  suite: MachineSuite,
  coverage?: Coverage,
  stage: (path: Path, options: SceneOptions, runId: string) => Stage | Promise<Stage> = (...about) => ({
    scene: createScene(...about),
  }),
): DirectedExecutor {
  const { machine, begin } = delegating(coverage?.machine ?? suite.machine);
  return async (path, options = {}) => {
    runs += 1;
    const runId = `directed-${runs}`;
    const { scene, plays, params = {} } = await stage(path, options, runId);
    const { clock, script } = scene.controlled;
    const queue: AnyMachineSnapshot[] = [];
    const woken = createAlarm();
    let broken: unknown = null;
    let result: AttemptResult | null = null;
    let handle: AttemptHandle | null = null;
    const director = new Director(scene, path.steps, suite.machine, () => handle?.abort(), plays);
    const state: RunState = { logic: director.logic, invocations: [], snapshots: [] };

    begin(state, () => {
      let root: ActorRefFrom<typeof attemptMachine> | null = null;
      handle = startAttemptOn(
        {
          // The chart of the suite, with actors that stand for the real ones.
          machine: machine as typeof attemptMachine,
          inspect: watchMicrosteps(coverage),
          made: (actor) => {
            root = actor;
            actor.subscribe({
              next: (snapshot) => {
                queue.push(snapshot as AnyMachineSnapshot);
                woken.wake();
              },
              error: (error) => {
                broken = error;
              },
            });
          },
        },
        requestOf(path),
        { ...paramsOf(path, options, budgetsOf(path), runId), ...params },
        scene.controlled.services,
      );
      if (root === null) throw new Error('the attempt made no machine');
      return root as ActorRefFrom<typeof attemptMachine>;
    });
    const ended = (handle as AttemptHandle | null)?.result.then(
      (settled) => {
        result = settled;
        woken.wake();
      },
      (error: unknown) => {
        broken = error;
      },
    );
    void ended;

    let taken = 0;
    const mismatch = await walk(
      suite,
      path,
      {
        async take(step, index) {
          // A child that ends as soon as it is told to has brought the step about already.
          if (queue.length > taken) director.skip(index);
          else await director.take(step, index);
        },
        async rest() {
          await scene.rest();
          await woken.until(() => queue.length > taken || broken !== null, scene.patience ?? 0);
          const snapshot = queue[taken];
          taken += 1;
          if (snapshot !== undefined) return snapshot;
          taken -= 1;
          const last = queue.at(-1);
          if (last === undefined) throw new Error('the machine did not start');
          return last;
        },
        broken: () => broken,
        sameEffect,
      },
      state.snapshots,
    );
    director.answerLate();
    await woken.until(() => result !== null || broken !== null, scene.patience ?? 0);
    for (let round = 0; round < SETTLING_ROUNDS && result === null && broken === null; round += 1) {
      await scene.rest();
      clock.increment(round < 3 ? DUE : EVERYTHING);
    }
    director.answerAfterTheEnd();
    await scene.rest();
    const [first] = state.snapshots;
    if (first !== undefined) coverage?.microstep(first, []);
    const rest = queue.length - taken;
    const left = mismatch ?? (rest > 0 ? `${rest} more event(s) after the last step` : null);
    if (left === null) coverage?.path(path);
    return {
      path,
      snapshots: state.snapshots,
      invocations: state.invocations.map(byParent),
      live: director.live(),
      mismatch: left,
      scene,
      result,
      calls: script.calls,
      callsBefore: director.callsBefore,
      forced: director.forced,
    };
  };
}

/** Waits for something that is told by `wake`, for some real time at most. */
function createAlarm() {
  let check = (): void => {};
  return {
    wake: () => check(),
    async until(holds: () => boolean, ms: number): Promise<void> {
      if (ms === 0 || holds()) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        check = () => {
          if (!holds()) return;
          clearTimeout(timer);
          resolve();
        };
      });
      check = () => {};
    },
  };
}

/** Of what a real child machine was told, the part that only its parent says. */
function byParent(invocation: Invocation): Invocation {
  const told = invocation.told.filter(
    ({ event }) => event.type === 'INTERRUPT' && !('why' in event && event['why'] === 'yield'),
  );
  return { ...invocation, told };
}
