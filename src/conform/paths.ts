import type { AttemptInput, OpenOutput } from '../../machines/attempt-types.ts';
import type { EngineInfo } from '../engine/contract.ts';
import { bindingOf } from '../testing/controlled/session.ts';
import { createDirectedExecutor, type DirectedRun } from '../testing/director/execute.ts';
import { BOUND_THREAD, directedBinding } from '../testing/director/scene.ts';
import { turnsCanHappen } from '../testing/director/turn-play.ts';
import { coveringPaths, explore, type Path } from '../testing/paths/generate.ts';
import { delayOf, type MachineSuite, type PathStep } from '../testing/paths/suite.ts';
import { attemptSuite } from '../testing/suites/attempt.ts';
import { promptKey } from '../transcript/keys.ts';
import type { Bench } from './bench.ts';
import { textsOf } from './marks.ts';
import type { RecordedCall } from './recorder.ts';
import { judgeTurn, turnFault } from './scenarios/scenario.ts';
import type { HostSession } from './session.ts';

/** States in which an engine is asked something. */
const ENGINE_STATES = [
  'bootstrap.draining',
  'bootstrap.engine',
  'bootstrap.maintenance',
  'assembling',
  'finalizing',
  'maintaining',
  'compacting',
] as const;

/** What the work of a state cannot come to: it would have to be made up. */
const MADE_UP: ReadonlySet<string> = new Set(['error turn', 'error compaction', 'error project', 'error finalize']);

/** States in which the host works by itself: what happens there shows to the engine by what comes next, if at all. */
const UNSEEN: ReadonlySet<string> = new Set([
  'bootstrap.reading',
  'bootstrap.rereading',
  'projecting',
  'hook-build',
  'thread-start.connecting',
  'thread-start.resuming',
  'thread-start.starting',
]);

/**
 * The paths of the attempt machine on which an engine of this kind is asked something, the shortest first. Together they
 * take every step that the machine can take with such an engine, in every state that matters to a later step. Of paths
 * that the engine cannot tell apart only the first is kept.
 */
export function enginePaths(engine: {
  info: EngineInfo;
  bootstrap: boolean;
  maintain: boolean;
  durable: boolean;
}): Path[] {
  const { info, bootstrap, maintain, durable } = engine;
  const inputs = attemptSuite.inputs.filter(({ input }) => {
    const facts = (input as AttemptInput).engine;
    return (
      facts !== null &&
      facts.bootstrap === bootstrap &&
      facts.maintain === maintain &&
      facts.ownsCompaction === (info.ownsCompaction === true)
    );
  });
  // What comes behind `bootstrap` is the same with and without a session file. It is led there with one, because a
  // session without messages has nothing that could be compacted.
  const graphs = [withSessionFile(true), withSessionFile(false)].flatMap((suite) =>
    inputs.map((input) => explore(suite, input)),
  );
  const otherMode = info.turnMaintenanceMode === 'background' ? 'foreground' : 'background';
  const found = coveringPaths(graphs, 'edges')
    .filter((path) => path.steps.some((step) => isEngineState(step.state)))
    .filter((path) => turnsCanHappen(path) && !path.steps.some(({ label }) => MADE_UP.has(label)))
    .filter((path) => !path.steps.some(({ label }) => label === `done maintain: ${otherMode}`))
    .filter((path) => durable || !path.steps.some(({ label }) => label === 'error drainOutbox'))
    .toSorted((one, other) => one.steps.length - other.steps.length);
  const seen = new Map<string, Path>();
  for (const path of found) {
    const sight = path.steps.flatMap((step) => sightOf(step)).join(' → ');
    if (!seen.has(sight)) seen.set(sight, path);
  }
  return [...seen.values()];
}

/** What an engine can notice of a step. */
function sightOf(step: PathStep): string[] {
  if (!UNSEEN.has(step.state)) return [stepText(step).replace(', bound', '')];
  const goesOn = UNSEEN.has(step.next) || isEngineState(step.next) || step.next.startsWith('turning');
  return goesOn ? [] : [`then ${step.next}`];
}

function withSessionFile(hadSessionFile: boolean): MachineSuite {
  const { answers } = attemptSuite;
  const { done = [], error = [] } = answers['open'] ?? {};
  const opened = done.filter(
    ({ event }) => (event as { output?: OpenOutput }).output?.hadSessionFile === hadSessionFile,
  );
  return { ...attemptSuite, answers: { ...answers, open: { done: opened, error } } };
}

function isEngineState(state: string): boolean {
  return ENGINE_STATES.some((each) => state === each || state.startsWith(`${each}.`));
}

/** A step as a report says it. */
export function stepText({ label, state }: Pick<PathStep, 'label' | 'state'>): string {
  const delay = delayOf({ label });
  if (delay !== null) return `${delay} runs out in ${state}`;
  return label === 'ABORT' ? `ABORT while ${state}` : label.replace(/^done /, '');
}

/** Whether the engine went the whole path, as `drivePath` tells it. */
export type Driven = { driven: true } | { driven: false; why: string };

/**
 * Leads an attempt with the engine along a path of the machine. What fails on the way are ports of the host: calls that
 * the path lets fail or hang are kept from the engine. Afterwards a good turn follows on the same session.
 */
export type PathDriver = (bench: Bench, path: Path) => Promise<Driven>;

export function createPathDriver(): PathDriver {
  const execute = createDirectedExecutor(attemptSuite);
  const firstTurns = new Map<string, Path>();
  const prepare = (path: Path, info: EngineInfo): Path => {
    const found = firstTurns.get(path.input.label) ?? firstTurn(path, info);
    firstTurns.set(path.input.label, found);
    return found;
  };

  async function lead(
    bench: Bench,
    session: HostSession,
    path: Path,
    prompt: string,
    turns: number,
  ): Promise<DirectedRun> {
    const { recorder } = bench;
    const calls: RecordedCall[] = [];
    const before = [...session.steps];
    recorder.listener = {
      begins: (method) => bench.onCall(method, [...before, ...path.steps.map(stepText)]),
      ends: (call) => void calls.push(call),
      reloads: () => undefined,
    };
    const run = await execute(path, {
      engine: recorder.engine,
      session: session.store,
      sessionKey: session.sessionKey,
      prompt,
      turnsBefore: session.turnsBefore + turns,
      underWay: () => (recorder.busy ? recorder.idle() : null),
    });
    await recorder.idle();
    for (const call of calls) bench.judge(call, [...before, ...wayTo(run, call)]);
    return run;
  }

  return async (bench, path) => {
    const session = bench.session();
    const opened = openOf(path);
    if (opened?.hadSessionFile === true) {
      const made = await lead(bench, session, prepare(path, bench.recorder.info), session.says(1, 'user'), 100);
      if (made.mismatch !== null) return { driven: false, why: `the turn before it: ${made.mismatch}` };
      session.steps.push('a turn: completed');
    }
    await bind(session, path);
    if (opened?.journalOpen === true) await leaveOpenTurn(session);
    const run = await lead(bench, session, path, session.says(2, 'user'), 200);
    const { result } = run;
    session.steps.push(...path.steps.map(stepText));
    if (run.mismatch !== null || result === null) return { driven: false, why: run.mismatch ?? 'it did not end' };
    session.skip(2, result.sessionId);
    await judgeAfter(bench, session, result);
    return { driven: true };
  };
}

/** What must hold when the path is over: the engine goes on, and what it was told of the turn is known once. */
async function judgeAfter(
  bench: Bench,
  session: HostSession,
  result: NonNullable<DirectedRun['result']>,
): Promise<void> {
  const steps = [...session.steps];
  const told = result.outcome === 'completed' && result.finalization.ok && result.finalization.method !== 'none';
  if (told) {
    const fault = await turnFault(bench, session, 2, `${bench.finalizer}() alone`, ['user']);
    judgeTurn(bench, 'one-finalizer', fault);
    return;
  }
  const after = await session.turn();
  if (!after.result.finalization.ok) return;
  const fault = await turnFault(bench, session, after.turn, `an attempt that was ${result.outcome}, and a good turn,`);
  judgeTurn(bench, 'unfinished-turns', fault);
  const isWritten = (await session.rows()).some((row) =>
    textsOf(row).some((text) => text.includes(session.mark(2, 'user'))),
  );
  if (fault !== null || isWritten) return;
  const asked = await session.ask();
  const isGhost = session.shown(asked?.answer, 2, 'user').anywhere > 0;
  const expected = 'the prompt of an attempt that never came to its turn does not come up later';
  if (isGhost) bench.verdicts.broken('unfinished-turns', { expected, found: 'it is in the assembly', path: steps });
}

/** The path up to the step in which the call was made. */
function wayTo(run: DirectedRun, call: RecordedCall): string[] {
  const at = run.calls.findIndex(({ params }) => params === call.params);
  const steps = run.path.steps.filter((_step, index) => (run.callsBefore[index] ?? Number.POSITIVE_INFINITY) <= at);
  return [...steps.slice(0, -1).map(stepText), call.method];
}

function openOf({ steps }: Path): OpenOutput | undefined {
  const opened = steps.find(({ label }) => label.startsWith('done open'));
  return (opened?.event as { output?: OpenOutput } | undefined)?.output;
}

/** A good turn of the same engine on a new session: of several ends of the same work the one that is named here. */
function firstTurn({ input }: Path, info: EngineInfo): Path {
  const chosen = new Set([
    'done open: no file',
    'done project: start',
    'done turn: completed',
    'done finalize: ok',
    `done maintain: ${info.turnMaintenanceMode === 'background' ? 'background' : 'foreground'}`,
  ]);
  const forTurn = attemptSuite.inputs.find(({ group, label }) => group === 'turn' && label === input.label) ?? input;
  const graph = explore(attemptSuite, forTurn);
  const steps: PathStep[] = [];
  for (let node = graph.nodes.get(graph.start); node !== undefined && !node.final; ) {
    const good = node.edges.filter(({ label }) => label.startsWith('done '));
    const step = good.find(({ label }) => chosen.has(label)) ?? good[0];
    if (step === undefined) throw new Error(`no good step in ${node.state}`);
    steps.push(step);
    node = graph.nodes.get(step.to);
  }
  return { suite: attemptSuite, input: forTurn, steps };
}

/** Gives the session the binding that the path finds: of the engine's own thread, where it has had a turn. */
async function bind(session: HostSession, path: Path): Promise<void> {
  const { bindings } = session.store;
  const [wanted] = directedBinding(path, openOf(path))?.threads ?? [];
  if (wanted === undefined) return bindings.clear();
  const present = await bindings.read();
  const { threadId, toolFingerprint } = wanted;
  const threads = [{ ...wanted, ...present?.threads[0], threadId, toolFingerprint }];
  await bindings.write({ ...(present ?? bindingOf()), threads });
}

/** A turn that another process began and did not end. */
async function leaveOpenTurn(session: HostSession): Promise<void> {
  const attemptId = `${session.label}-broken-off`;
  const idempotencyKey = promptKey(attemptId);
  const text = session.says(9, 'user');
  await session.store.journal.write({
    version: 1,
    attemptId,
    threadId: BOUND_THREAD,
    turnId: `turn-${session.turnsBefore + 9}`,
    promptRow: { idempotencyKey, message: { role: 'user', content: text, timestamp: 1, idempotencyKey } },
    realm: 'live',
  });
}
