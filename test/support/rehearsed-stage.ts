import type { AnyActorLogic } from 'xstate';
import type { OpenOutput } from '../../machines/attempt-types.ts';
import { stateMachines } from '../../src/attempt/actors.ts';
import type { AppServer, HostTool } from '../../src/ports.ts';
import type { RehearsalStep } from '../../src/rehearsal/script.ts';
import { scriptedAppServer } from '../../src/testing/controlled/app-server.ts';
import { refusal } from '../../src/testing/controlled/codex.ts';
import { type Gate, gate, hang } from '../../src/testing/controlled/script.ts';
import type { ChildPlay } from '../../src/testing/director/child-play.ts';
import { compactionPlay, type NativeSide } from '../../src/testing/director/compaction-play.ts';
import type { Stage } from '../../src/testing/director/execute.ts';
import { createScene, type Scene, type SceneOptions } from '../../src/testing/director/scene.ts';
import { canHappen, courseOf, type TurnCourse } from '../../src/testing/director/turn-play.ts';
import type { Path } from '../../src/testing/paths/generate.ts';
import type { PathStep } from '../../src/testing/paths/suite.ts';
import type { RehearsalBench, RehearsedSession } from './rehearsed.ts';

/** Real milliseconds that the real app-server may take for one step. */
const PATIENCE = 60_000;

const openedOf = (path: Path): OpenOutput | undefined =>
  (path.steps.find(({ label }) => label.startsWith('done open'))?.event as { output?: OpenOutput } | undefined)?.output;

/**
 * The ports of a path with the real app-server before the offline model, and a real session in a temp folder. Faults of
 * ports are injected between the attempt and them; what the model says is real to the app-server.
 */
export async function rehearsedStage(
  bench: RehearsalBench,
  path: Path,
  options: SceneOptions,
  runId: string,
): Promise<{ stage: Stage; session: RehearsedSession }> {
  const answers: ModelAnswer[] = [];
  const session = await bench.session(
    Array.from({ length: 8 }, () => () => (answers.shift() ?? (() => ({ text: 'more' })))()),
  );
  const opened = openedOf(path);
  const needsThread = opened?.bound === true;
  const scene = createScene(path, { ...options, session: session.store() }, runId);
  const { services, script } = scene.controlled;
  const wait = createWaitTool();
  const tools = [...(services.tools ?? []), wait.tool];
  if (opened?.hadSessionFile === true || needsThread) {
    // A first turn makes the session, its thread and its binding. With other tools its thread is not resumed.
    const starts = path.steps.find(({ label }) => label.startsWith('done project'))?.label === 'done project: start';
    answers.push(() => ({ text: 'earlier answer' }));
    const { result } = await session.run({ prompt: 'earlier prompt' }, { tools: starts ? [] : tools });
    scene.boundThread = result.threadId ?? '';
    const store = session.store();
    if (opened?.journalOpen === true)
      await leaveIntent(store, result.threadId ?? '', 'turn-that-broke-off', result.sessionId);
    if (opened?.bound !== true) await store.bindings.clear();
  } else if (opened?.journalOpen === true) {
    // A crash before the first turn of a session had begun: its thread is not on disk.
    await leaveIntent(session.store(), '0199d0f5-0000-7000-8000-000000000000', null);
  }
  services.appServer = scriptedAppServer(script, bench.appServer) as typeof services.appServer & AppServer;
  services.tools = tools;
  scene.patience = PATIENCE;
  scene.reached = (port) => script.until(() => script.calls.some(({ name, settled }) => name === port && !settled));
  const kill = (): void => {
    for (const pid of bench.processes()) process.kill(pid, 'SIGKILL');
  };
  const stage: Stage = {
    scene,
    plays: {
      turn: rehearsedTurnPlay({ scene, steps: path.steps, answers, wait, kill }),
      compaction: compactionPlay(scene, path.steps, rehearsedSide(scene, kill)),
    },
    params: { provider: 'rehearsal', realm: 'rehearsal', cwd: session.folder },
  };
  return { stage, session };
}

type ModelAnswer = () => RehearsalStep;

async function leaveIntent(
  store: ReturnType<RehearsedSession['store']>,
  threadId: string,
  turnId: string | null,
  sessionId?: string,
) {
  const idempotencyKey = 'codex-attempt:earlier:prompt';
  await store.journal.write({
    version: 1,
    attemptId: 'earlier',
    ...(sessionId === undefined ? {} : { sessionId }),
    threadId,
    turnId,
    promptRow: {
      idempotencyKey,
      message: { role: 'user', content: [{ type: 'text', text: 'broken off' }], timestamp: 1, idempotencyKey },
    },
    realm: 'rehearsal',
  });
}

/** A tool that holds the turn until it is let go, or the turn is stopped. */
function createWaitTool() {
  let held: Gate = gate();
  let called = (): void => {};
  const tool: HostTool = {
    name: 'wait',
    description: 'waits',
    parameters: { type: 'object', properties: {} },
    async execute(_args, { signal }) {
      called();
      await Promise.race([
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
        held.step.kind === 'hold' ? held.step.promise : undefined,
      ]);
      return 'waited';
    },
  };
  return {
    tool,
    /** Resolves when the model has called it. */
    begun: () =>
      new Promise<void>((resolve) => {
        held = gate();
        called = resolve;
      }),
    letGo: () => held.pass(),
  };
}

function rehearsedTurnPlay(about: {
  scene: Scene;
  steps: readonly PathStep[];
  answers: ModelAnswer[];
  wait: ReturnType<typeof createWaitTool>;
  kill: () => void;
}): ChildPlay {
  const { scene, steps, answers, wait, kill } = about;
  const { script } = scene.controlled;
  let course: TurnCourse = { end: null, stop: null };
  let request: Gate = gate();
  let interrupt: Gate = gate();

  const overflow: RehearsalStep = { error: { status: 400, code: 'context_length_exceeded', message: 'too long' } };
  const failure: RehearsalStep = { error: { status: 404, code: 'model_not_found' } };
  const lastAnswers = (label: string): readonly ModelAnswer[] => {
    if (label === 'done turn: completed') return [() => ({ text: 'the answer' })];
    if (label === 'done turn: yielded')
      return [() => ({ toolCalls: [{ name: 'pause' }] }), () => ({ stall: 'headers' })];
    if (label === 'done turn: overflow') return [() => overflow];
    if (label === 'done turn: overflow after effects')
      return [() => ({ shell: [{ command: 'true' }] }), () => overflow];
    return [() => failure];
  };
  const fails: readonly [() => void, ...(() => void)[]] = [
    () => void answers.push(() => failure),
    () =>
      void answers.push(() => {
        kill();
        return { stall: 'headers' };
      }),
    () => request.fail(refusal('Invalid request: not now')),
  ];

  return {
    begin(index) {
      course = courseOf(steps, index + 1);
      if (!canHappen(course)) return { forced: true };
      answers.length = 0;
      [request, interrupt] = [gate(), gate()];
      script.plan('codex.turn/start', [request.step]);
      return { forced: false, logic: stateMachines.turn as AnyActorLogic };
    },
    end({ label }) {
      if (course.stop === null) {
        if (label === 'done turn: failed') scene.pick(fails)();
        else answers.push(...lastAnswers(label));
        request.pass();
        return;
      }
      const isInterrupted = /: (?:aborted|deadline|yielded)$/.test(label);
      if (isInterrupted) interrupt.pass();
      else {
        answers.push(...lastAnswers(label));
        interrupt.answer({});
        wait.letGo();
      }
    },
    async prepareStop() {
      script.plan('codex.turn/interrupt', course.end === null ? [hang] : [interrupt.step]);
      const begun = wait.begun();
      const yields = course.end === 'done turn: yielded';
      answers.push(() => ({ toolCalls: [{ name: yields ? 'pause' : 'wait' }] }));
      if (yields) answers.push(() => ({ stall: 'headers' }));
      request.pass();
      if (yields) await script.called('codex.turn/interrupt');
      else await begun;
    },
  };
}

/** Native compactions of the real app-server. */
function rehearsedSide(scene: Scene, kill: () => void): NativeSide {
  return {
    compacts: (request) => request.pass(),
    fails: (request) =>
      scene.pick([
        () => request.fail(refusal('cannot compact now')),
        () => void scene.controlled.script.called('codex.thread/compact/start').then(kill),
      ])(),
    stops: (request) => request.fail(refusal('cannot compact now')),
    isDone(request, interrupt) {
      interrupt.answer({});
      request.pass();
    },
  };
}

/** Whether a real session can begin as the path does: a thread without a session file is another session's. */
export const canBeRehearsed = ({ steps }: Path): boolean => {
  const opened = steps.find(({ label }) => label.startsWith('done open'))?.label ?? '';
  return !opened.startsWith('done open: no file, bound');
};
