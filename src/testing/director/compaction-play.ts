import type { AnyActorLogic } from 'xstate';
import type { CompactionInput } from '../../../machines/compaction.ts';
import { stateMachines } from '../../attempt/actors.ts';
import { refusal } from '../controlled/codex.ts';
import { type Gate, gate } from '../controlled/script.ts';
import type { PathStep } from '../paths/suite.ts';
import type { ChildPlay, Stand } from './child-play.ts';
import type { Scene } from './scene.ts';

/** What becomes of one compaction on a path. */
interface Course {
  /** The label of its end, or null when it is cut short by a grace. */
  end: string | null;
  stopped: boolean;
  /** Nothing lies between the stop and the end. */
  endsAtOnce: boolean;
}

function courseOf(steps: readonly PathStep[], from: number): Course {
  let stopAt: number | null = null;
  for (const [index, { label, state }] of steps.slice(from).entries()) {
    const isEnd = label.startsWith('done compaction') || label === 'error compaction';
    if (isEnd) return { end: label, stopped: stopAt !== null, endsAtOnce: stopAt === index - 1 };
    if (state === 'compacting.working') stopAt ??= index;
  }
  return { end: null, stopped: stopAt !== null, endsAtOnce: false };
}

/**
 * Whether the real machine can take this course. While the engine compacts, a stop ends it at once; it is to be in the
 * native compaction to be interrupted. A native result that comes after the interrupt is not taken.
 */
function canHappen({ end, stopped, endsAtOnce }: Course, { ownsCompaction, nativeWanted }: CompactionInput): boolean {
  if (end === 'error compaction') return false;
  if (!ownsCompaction && !nativeWanted) return end === 'done compaction: failed' && !stopped;
  if (!stopped) {
    if (end === 'done compaction: failed') return true;
    if (ownsCompaction) return end !== 'done compaction: native';
    return end === 'done compaction: native';
  }
  if (end === 'done compaction: failed' && endsAtOnce) return true;
  if (!nativeWanted) return false;
  if (end === null || end === 'done compaction: failed') return true;
  return ownsCompaction && end !== 'done compaction: native';
}

/** What the app-server does about a native compaction; the gate holds its request. */
export interface NativeSide {
  compacts(request: Gate): void;
  fails(request: Gate): void;
  /** The gate holds `turn/interrupt`. */
  interrupted(interrupt: Gate): void;
}

function controlledSide(scene: Scene): NativeSide {
  const { codex, script } = scene.controlled;
  const turn = { id: 'compaction-1', status: 'completed', items: [] };
  const item = { type: 'contextCompaction', id: 'compaction-item' };
  const notify = (method: string, params: object): void =>
    codex.clients.at(-1)?.notify(method, { threadId: scene.boundThread, ...params });
  const started = (): void => notify('turn/started', { turn: { ...turn, status: 'inProgress' } });
  return {
    compacts(request) {
      request.answer({});
      setImmediate(() => {
        started();
        notify('item/completed', { turnId: turn.id, item });
        notify('turn/completed', { turn });
      });
    },
    fails: (request) =>
      scene.pick<() => void>([
        () => request.fail(refusal('cannot compact now')),
        () => {
          request.answer({});
          setImmediate(() => {
            started();
            notify('turn/completed', { turn });
          });
        },
        // Once it is asked to compact: before that there may be no process yet.
        () => void script.called('codex.thread/compact/start').then(() => codex.clients.at(-1)?.end(1)),
      ])(),
    interrupted: (interrupt) =>
      scene.pick<() => void>([
        () => interrupt.fail(refusal('no active turn to interrupt')),
        () => {
          interrupt.answer({});
          setImmediate(() => notify('turn/completed', { turn: { ...turn, status: 'interrupted' } }));
        },
      ])(),
  };
}

/** The compactions of a path: engine and app-server play each so that it comes to what the path says. */
export function compactionPlay(
  scene: Scene,
  steps: readonly PathStep[],
  side: NativeSide = controlledSide(scene),
): ChildPlay {
  const { script } = scene.controlled;
  let course: Course = { end: null, stopped: false, endsAtOnce: false };
  let input: Pick<CompactionInput, 'ownsCompaction' | 'nativeWanted'> = { ownsCompaction: false, nativeWanted: false };
  let engine: Gate = gate();
  let native: Gate = gate();
  let interrupt: Gate = gate();

  const engineFails = (): void =>
    scene.pick([
      () => engine.fail('the engine broke'),
      () => engine.answer({ ok: false, compacted: false, reason: 'not now' }),
      () => engine.answer('done'),
      () => engine.answer({ ok: true }),
    ])();
  const engineAnswers = (): void => {
    if (scene.foreign && course.end !== 'done compaction: failed') engine.pass();
    else if (course.end === 'done compaction: engine') engine.answer({ ok: true, compacted: true });
    else if (course.end === 'done compaction: nothing') engine.answer({ ok: true, compacted: false });
    else engineFails();
  };

  return {
    begin(index, given): Stand {
      input = given as CompactionInput;
      course = courseOf(steps, index + 1);
      if (!canHappen(course, input as CompactionInput)) return { forced: true };
      [engine, native, interrupt] = [gate(), gate(), gate()];
      script.plan('engine.compact', [engine.step]);
      script.plan('codex.thread/compact/start', [native.step]);
      script.plan('codex.turn/interrupt', [interrupt.step]);
      return { forced: false, logic: stateMachines.compaction as AnyActorLogic };
    },
    end({ label }) {
      if (course.stopped) {
        return side.interrupted(interrupt);
      }
      if (input.ownsCompaction) engineAnswers();
      if (label === 'done compaction: native') side.compacts(native);
      else if (input.nativeWanted && input.ownsCompaction) scene.pick([side.compacts, side.fails])(native);
      else if (input.nativeWanted) side.fails(native);
    },
    prepareStop() {
      // What is to be interrupted is the native compaction: the engine's is over by then.
      const inEngine = course.end === 'done compaction: failed' && course.endsAtOnce;
      if (input.ownsCompaction && input.nativeWanted && !inEngine) engineAnswers();
    },
  };
}
