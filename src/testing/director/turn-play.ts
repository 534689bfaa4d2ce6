import type { AnyActorLogic } from 'xstate';
import { stateMachines } from '../../attempt/actors.ts';
import { refusal } from '../controlled/codex.ts';
import { answer, fail, type Gate, gate, hang, pass } from '../controlled/script.ts';
import type { ControlledTurn } from '../controlled/turn.ts';
import type { Path } from '../paths/generate.ts';
import type { PathStep } from '../paths/suite.ts';
import type { ChildPlay, Stand } from './child-play.ts';
import type { Scene } from './scene.ts';

export type Stop = 'abort' | 'deadline' | null;

/** What becomes of one native turn on a path, from the step that begins it. */
export interface TurnCourse {
  /** The label of its end, or null when it is cut short by a grace. */
  end: string | null;
  stop: Stop;
}

/** Follows a path from a step on, to the end of the turn that begins there. */
export function courseOf(steps: readonly PathStep[], from: number): TurnCourse {
  let stop: Stop = null;
  for (const { label, state } of steps.slice(from)) {
    if (label.startsWith('done turn') || label === 'error turn') return { end: label, stop };
    if (state !== 'turning.running') continue;
    if (label === 'ABORT') stop = 'abort';
    if (label === 'after executionBudget') stop = 'deadline';
  }
  return { end: null, stop };
}

/** The real turn machine cannot break, and tells no other reason for a stop than the one that it was given. */
export function canHappen({ end, stop }: TurnCourse): boolean {
  if (end === 'error turn') return false;
  if (end === 'done turn: aborted') return stop === 'abort';
  if (end === 'done turn: deadline') return stop === 'deadline';
  return true;
}

/** Whether every native turn of a path can come to what the path says. */
export const turnsCanHappen = ({ steps }: Path): boolean =>
  steps.every(({ next }, index) => next !== 'turning.running' || canHappen(courseOf(steps, index + 1)));

/** The native turns of a path: the app-server plays each so that it comes to what the path says. */
export function turnPlay(scene: Scene, steps: readonly PathStep[]): ChildPlay {
  const { script } = scene.controlled;
  let course: TurnCourse = { end: null, stop: null };
  let request: Gate = gate();
  let running: ControlledTurn | null = null;
  /** `turn/start` was let through before the stop. */
  let begun = false;

  const play = (after: (turn: ControlledTurn) => void | Promise<void>) => {
    scene.turnPlay = async (turn) => {
      running = turn;
      turn.started().user();
      await after(turn);
    };
  };
  const yields = () => course.end === 'done turn: yielded';
  const sayPart = (turn: ControlledTurn) => void turn.openMessage('half an ans');

  /** What the server does at the end of a turn that nobody has stopped. */
  function endFreely(label: string): void {
    const ways: Record<string, readonly [() => void, ...(() => void)[]]> = {
      'done turn: completed': [
        () => play((turn) => turn.message('the answer').usage({ input: 100, cached: 80, output: 5 }).completed()),
        () => play((turn) => turn.command('ls', 'a file').message('the answer').completed()),
        () => play((turn) => turn.message('first', 'commentary').message('the answer').completed()),
      ],
      'done turn: yielded': [
        () =>
          play(async (turn) => {
            const interrupts = script.of('codex.turn/interrupt').length;
            await turn.tool('pause', {});
            await script.called('codex.turn/interrupt', interrupts + 1);
            turn.interrupted();
          }),
      ],
      'done turn: failed': [
        () => play((turn) => turn.failed('the model broke')),
        () => play((turn) => turn.client.end(1)),
        () => request.fail(refusal('Invalid request: not now')),
        () => request.answer({ turn: {} }),
      ],
      'done turn: overflow': [() => play((turn) => turn.failed('too long', 'contextWindowExceeded'))],
      'done turn: overflow after effects': [
        () => play((turn) => turn.command('rm', 'gone').failed('too long', 'contextWindowExceeded')),
      ],
    };
    const found = ways[label];
    if (found === undefined) throw new Error(`no play for ${label}`);
    scene.pick(found)();
    request.pass();
  }

  /** What the server does at the end of a turn that was told to stop. */
  function endStopped(label: string): void {
    const end = (turn: ControlledTurn): void => {
      if (label === 'done turn: completed') turn.message('the answer').completed();
      else if (label === 'done turn: failed') turn.failed('the model broke');
      else if (label === 'done turn: overflow') turn.failed('too long', 'contextWindowExceeded');
      else if (label === 'done turn: overflow after effects')
        turn.command('rm', 'gone').failed('too long', 'contextWindowExceeded');
      else turn.interrupted();
    };
    if (running !== null) end(running);
    else {
      play((turn) => void setImmediate(() => end(turn)));
      request.pass();
    }
  }

  return {
    begin(index): Stand {
      course = courseOf(steps, index + 1);
      if (!canHappen(course)) return { forced: true };
      running = null;
      begun = false;
      request = gate();
      scene.turnPlay = () => {};
      script.plan('codex.turn/start', [request.step]);
      return { forced: false, logic: stateMachines.turn as AnyActorLogic };
    },
    end: ({ label }) => (course.stop === null ? endFreely(label) : endStopped(label)),
    prepareStop() {
      if (begun) return;
      begun = true;
      const interrupt = course.end === null ? [hang, pass, fail(refusal('no active turn to interrupt'))] : [answer({})];
      script.plan('codex.turn/interrupt', interrupt[scene.pick([0, 1, 2]) % interrupt.length] ?? hang);
      // The stop comes while `turn/start` is not answered yet, or while the model writes.
      if (!yields() && scene.pick([false, true])) return;
      play(async (turn) => {
        // A turn that completes has waited for its tools.
        const stalls = course.end !== 'done turn: completed';
        scene.pick([() => sayPart(turn), () => (stalls ? void turn.tool('stall', {}) : sayPart(turn))])();
        if (yields()) await turn.tool('pause', {});
      });
      request.pass();
    },
  };
}
