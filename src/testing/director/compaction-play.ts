import type { AnyActorLogic } from 'xstate';
import type { CompactionInput } from '../../../machines/compaction.ts';
import { stateMachines } from '../../attempt/actors.ts';
import { refusal } from '../controlled/codex.ts';
import { type Gate, gate, hang } from '../controlled/script.ts';
import type { PathStep } from '../paths/suite.ts';
import type { ChildPlay, Stand } from './child-play.ts';
import { nativeNotices } from './native-notices.ts';
import type { Scene } from './scene.ts';

/** What becomes of one compaction on a path. */
interface Course {
  /** The label of its end; null when the path ends before. */
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
 * Whether the real machine can take this course. While the engine compacts or maintains itself, a stop ends it at once;
 * only a native compaction is waited for, and may have been done before the interrupt came.
 */
function canHappen({ end, stopped, endsAtOnce }: Course, input: CompactionInput): boolean {
  const { ownsCompaction, maintains, nativeWanted } = input;
  if (end === 'error compaction') return false;
  if (!ownsCompaction && !nativeWanted) return end === 'done compaction: failed' && !stopped;
  if (end === 'done compaction: failed') return !stopped || nativeWanted || endsAtOnce;
  if (!ownsCompaction) return end === 'done compaction: native';
  if (end === 'done compaction: native') return false;
  if (!stopped || nativeWanted) return true;
  return end === 'done compaction: engine' && maintains && endsAtOnce;
}

/** What the app-server does about a native compaction; the gates hold its request and `turn/interrupt`. */
export interface NativeSide {
  compacts(request: Gate): void;
  fails(request: Gate): void;
  /** It was told to stop, and does. */
  stops(request: Gate, interrupt: Gate): void;
  /** It was told to stop, and was done already. */
  isDone(request: Gate, interrupt: Gate): void;
}

function controlledSide(scene: Scene): NativeSide {
  const { codex, script } = scene.controlled;
  const notices = () =>
    nativeNotices((method, params) => codex.clients.at(-1)?.notify(method, params), scene.boundThread);
  return {
    compacts(request) {
      request.answer({});
      setImmediate(notices().compacts);
    },
    fails: (request) =>
      scene.pick<() => void>([
        () => request.fail(refusal('cannot compact now')),
        () => {
          request.answer({});
          setImmediate(notices().endsWithoutItem);
        },
        // Once it is asked to compact: before that there may be no process yet.
        () => void script.called('codex.thread/compact/start').then(() => codex.clients.at(-1)?.end(1)),
      ])(),
    stops: (request, interrupt) =>
      scene.pick<() => void>([
        () => request.fail(refusal('cannot compact now')),
        () => {
          const { begins, isInterrupted } = notices();
          request.answer({});
          interrupt.answer({});
          setImmediate(() => {
            begins();
            setImmediate(isInterrupted);
          });
        },
      ])(),
    isDone(request, interrupt) {
      const { begins, compacts } = notices();
      request.answer({});
      interrupt.fail(refusal('no active turn to interrupt'));
      setImmediate(() => {
        begins();
        setImmediate(compacts);
      });
    },
  };
}

/** Nobody compacts: there is no compaction yet, or something stands in its place. */
const NOBODY: Pick<CompactionInput, 'ownsCompaction' | 'nativeWanted'> = { ownsCompaction: false, nativeWanted: false };

/** The compactions of a path: engine and app-server play each so that it comes to what the path says. */
export function compactionPlay(
  scene: Scene,
  steps: readonly PathStep[],
  side: NativeSide = controlledSide(scene),
): ChildPlay {
  const { script } = scene.controlled;
  let course: Course = { end: null, stopped: false, endsAtOnce: false };
  let input = NOBODY;
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
      const wanted = given as CompactionInput;
      course = courseOf(steps, index + 1);
      const isForced = !canHappen(course, wanted);
      input = isForced ? NOBODY : wanted;
      if (isForced) return { forced: true };
      [engine, native, interrupt] = [gate(), gate(), gate()];
      script.plan('engine.compact', [engine.step]);
      script.plan('codex.thread/compact/start', [native.step]);
      script.plan('codex.turn/interrupt', [interrupt.step]);
      // Without a native compaction only the engine's maintenance can be under way when the stop comes.
      if (course.stopped && !wanted.nativeWanted && course.end === 'done compaction: engine')
        script.plan('engine.maintain', [hang]);
      return { forced: false, logic: stateMachines.compaction as AnyActorLogic };
    },
    end({ label }) {
      if (course.stopped) {
        const isDone = label === 'done compaction: native' || (input.ownsCompaction && scene.pick([true, false]));
        if (isDone) side.isDone(native, interrupt);
        else side.stops(native, interrupt);
        return;
      }
      if (input.ownsCompaction) engineAnswers();
      if (label === 'done compaction: native') side.compacts(native);
      else if (input.nativeWanted && input.ownsCompaction) scene.pick([side.compacts, side.fails])(native);
      else if (input.nativeWanted) side.fails(native);
    },
    async prepareStop() {
      const inEngine = input.ownsCompaction && course.end === 'done compaction: failed' && course.endsAtOnce;
      if (inEngine) return;
      if (input.ownsCompaction) engineAnswers();
      // What is to be interrupted must have been asked for.
      if (input.nativeWanted) await script.called('codex.thread/compact/start');
    },
  };
}
