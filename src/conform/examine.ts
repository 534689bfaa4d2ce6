import { hostCapabilities, resolveEngineRequirements } from '../engine/requirements.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { Bench } from './bench.ts';
import { lookAgain } from './later-process.ts';
import { memberFault } from './members.ts';
import type { Assignment, KeptSession, News } from './news.ts';
import { createPathDriver, enginePaths } from './paths.ts';
import type { ConformReport } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { keepSession } from './scenarios/kept.ts';
import { Verdicts } from './verdicts.ts';

/** Milliseconds between two signs of life. */
const BEAT_MS = 250;

/**
 * Examines an engine in this process and tells what it finds. The process is the engine's: it may be blocked, broken or
 * ended by it, and whoever started it must reckon with that. Never rejects.
 */
export async function examine(assignment: Assignment, tell: (news: News) => void): Promise<void> {
  const verdicts = new Verdicts((id, state) => tell({ type: 'clause', id, state }));
  let path: readonly string[] = [];
  const stopWatching = watchOutside((found) =>
    verdicts.broken('inside', { expected: 'errors come out of the call that they belong to', found, path: [...path] }),
  );
  const beat = setInterval(() => tell({ type: 'beat' }), BEAT_MS);
  try {
    const bench = await openBench(assignment, verdicts).catch((error: unknown) => {
      if (!isAttemptError(error)) throw error;
      // Only what loading says is about the engine; an error later on is a fault of this program.
      tell({ type: 'refused', code: error.code, message: error.message });
      return null;
    });
    if (bench === null) return;
    bench.onCall = (method, way) => {
      path = way;
      tell({ type: 'call', method, path: [...way] });
    };
    tell({ type: 'loaded', engine: presented(bench) });
    const found = await perform(bench, assignment);
    await bench.recorder.disposeOnce();
    // What was thrown outside shows in the next round at the latest.
    await new Promise((resolve) => setImmediate(resolve));
    if (!verdicts.isBroken('inside')) verdicts.held('inside');
    // Most clauses are looked at often; only now is it certain how often.
    for (const [id, state] of verdicts.entries()) tell({ type: 'clause', id, state });
    const { calls, longestStallMs } = bench.recorder;
    tell({ type: 'done', ...found, calls: calls.length, longestStallMs });
  } catch (error) {
    tell({ type: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : messageOf(error) });
  } finally {
    clearInterval(beat);
    stopWatching();
  }
}

async function openBench(assignment: Assignment, verdicts: Verdicts): Promise<Bench> {
  const { spec, config, folder, timeoutMs, task } = assignment;
  const day = task.kind === 'again' ? 1 : 0;
  const bench = await Bench.open({ spec, config, folder, timeoutMs, day }, verdicts);
  resolveEngineRequirements(bench.recorder.engine, 'agent-run', hostCapabilities({ completion: true }));
  return bench;
}

function presented({ recorder, source, finalizer }: Bench) {
  const { id, name, version } = recorder.info;
  const methods = (['bootstrap', 'ingestBatch', 'afterTurn', 'commitTurn', 'maintain', 'dispose'] as const).filter(
    (method) => recorder.has(method),
  );
  return { id, name, version: typeof version === 'string' ? version : null, source, finalizer, methods };
}

type Found = Pick<ConformReport, 'paths'> & { kept: KeptSession | null };

const NO_PATHS = { total: 0, driven: 0, leftOut: 0 };

async function perform(bench: Bench, { task, limitMs }: Assignment): Promise<Found> {
  switch (task.kind) {
    case 'keep':
      return { paths: NO_PATHS, kept: await keepSession(bench) };
    case 'again':
      await lookAgain(bench, task.kept);
      return { paths: NO_PATHS, kept: null };
    case 'examine':
      return { paths: await examineAll(bench, performance.now() + limitMs), kept: null };
  }
}

/** All that one process can find out by itself; no path is begun after `deadline`, by `performance.now()`. */
export async function examineAll(bench: Bench, deadline: number): Promise<ConformReport['paths']> {
  const { recorder, verdicts } = bench;
  const fault = memberFault(recorder.engine);
  verdicts.judge('members', fault === null ? null : { ...fault, path: ['load'] });
  for (const scenario of SCENARIOS) await scenario.run(bench);
  const paths = enginePaths({
    info: recorder.info,
    bootstrap: recorder.has('bootstrap'),
    maintain: recorder.has('maintain'),
    durable: bench.durable,
  });
  const drive = createPathDriver();
  let [driven, leftOut] = [0, 0];
  for (const path of paths) {
    if (performance.now() > deadline) leftOut += 1;
    else if ((await drive(bench, path)).driven) driven += 1;
  }
  return { total: paths.length, driven, leftOut };
}

/** Errors that come out of no call. Returns the way to stop watching. */
function watchOutside(found: (what: string) => void): () => void {
  const onError = (error: unknown): void => found(`an uncaught exception: ${redact(messageOf(error))}`);
  const onRejection = (reason: unknown): void => found(`a rejection that nobody handles: ${redact(messageOf(reason))}`);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onRejection);
  return () => {
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onRejection);
  };
}
