import { fromPromise } from 'xstate';
import type { TurnActorInput } from '../../../machines/turn.ts';
import { recordOf } from '../../attempt/record.ts';
import { turnOf } from '../../attempt/turning.ts';
import { refusal } from '../controlled/codex.ts';
import { gate } from '../controlled/script.ts';
import { ControlledTurn } from '../controlled/turn.ts';
import { DUE } from '../paths/execute.ts';
import { delayOf, type PathStep } from '../paths/suite.ts';
import type { ChildScene, ChildSteps } from './child.ts';
import { BOUND_THREAD } from './scene.ts';

/** The steps of the turn machine, as the app-server and the attempt bring them about. */
export const turnSteps: ChildSteps = (scene) => {
  const { script, clock } = scene.controlled;
  const turn = new ControlledTurn(scene.client, BOUND_THREAD, 'turn-1');
  const request = gate();
  const interrupt = gate();
  const drained = createHold();
  let started = false;
  let ended = false;
  let acted = false;

  const running = (): ControlledTurn => {
    if (!started) turn.started();
    started = true;
    return turn;
  };

  /** What the app-server says. */
  function say(label: string): void {
    if (label === 'COMPLETED completed') running().completed();
    else if (label === 'COMPLETED interrupted') running().interrupted();
    else if (label === 'COMPLETED failed') running().failed('it went wrong');
    else if (label === 'COMPLETED failed: context_window_exceeded') running().failed('long', 'contextWindowExceeded');
    else if (label === 'COMPLETED failed: usage_limit_exceeded') running().failed('no credit', 'usageLimitExceeded');
    else throw new Error(`no play for ${label}`);
    ended = true;
  }

  async function yieldNow(): Promise<void> {
    await running().tool('pause', {});
  }

  return {
    prepare() {
      script.plan('codex.turn/start', [request.step]);
      script.plan('codex.turn/interrupt', [interrupt.step]);
    },
    held: {
      drain: fromPromise<void, TurnActorInput>(async ({ input }) => {
        await drained.reached;
        await turnOf(recordOf(input.attemptId)).settled();
      }),
    },
    async take({ label, event, state }: PathStep) {
      if (delayOf({ label }) !== null) return clock.increment(DUE);
      switch (label) {
        case 'done request':
          return request.answer({ turn: { id: 'turn-1' } });
        case 'error request: overflow':
          return request.fail(refusal('Invalid request: context_length_exceeded'));
        case 'error request: other':
          return request.fail(refusal('Invalid request: not now'));
        case 'done interrupt':
          return interrupt.answer({});
        case 'error interrupt':
          return interrupt.fail(refusal('no active turn to interrupt'));
        case 'done drain':
          return drained.reach();
        case 'error drain':
          scene.madeUp();
          return drained.fail();
        case 'EXITED':
          return scene.client.end(1);
        case 'EFFECT':
          // Of a turn that is over the app-server's words count no more.
          if (ended || state === 'draining') return madeUp(scene, event);
          acted = true;
          running().command('rm', 'gone');
          return;
        case 'INTERRUPT yield':
          // Only a tool yields, and a tool is an effect.
          return ended || !acted || state === 'draining' ? madeUp(scene, event) : yieldNow();
        case 'INTERRUPT abort':
        case 'INTERRUPT deadline':
          scene.stop ??= label === 'INTERRUPT abort' ? 'abort' : 'deadline';
          return scene.send(event);
        default:
          if (label.startsWith('COMPLETED')) return say(label);
          throw new Error(`no play for ${label}`);
      }
    },
  };
};

function madeUp(scene: ChildScene, event: PathStep['event']): void {
  scene.madeUp();
  scene.send(event);
}

/** A promise that is settled by hand. */
function createHold() {
  let [reach, fail] = [(): void => {}, (): void => {}];
  const reached = new Promise<void>((resolve, reject) => {
    [reach, fail] = [resolve, () => reject(new Error('drain failed'))];
  });
  // Who never waits for it is not told.
  reached.catch(() => {});
  return { reached, reach: () => reach(), fail: () => fail() };
}
