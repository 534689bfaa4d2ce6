import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EXAMPLE_ENGINE } from '../engine/load.ts';
import { AttemptError } from '../errors.ts';
import { resolveModule } from '../plugins/resolve.ts';
import type { ClauseId } from './clauses.ts';
import { runEngineProcess, type Told } from './engine-process.ts';
import { isolatedEnvironment } from './environment.ts';
import type { Assignment } from './news.ts';
import { type ConformReport, clauseReports, mergeStates } from './report.ts';
import type { ClauseState } from './verdicts.ts';

/** What shall be examined, and how long that may take. */
export interface ConformOptions {
  /** As `--engine` takes it: `PATH_OR_PACKAGE[#id]`, or `example`. */
  spec: string;
  /** Where relative paths and package names resolve from; absolute. */
  cwd: string;
  /** What the engine is configured with. Default: empty. */
  config?: Readonly<Record<string, unknown>>;
  /** The environment that the engine gets, but for its homes: see `isolatedEnvironment`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that one call of the engine may take. Default `CONFORM_DEFAULTS.timeoutMs`. */
  timeoutMs?: number;
  /** Milliseconds after which no further path is begun. Default `CONFORM_DEFAULTS.limitMs`. */
  limitMs?: number;
  /** Gets what the engine prints. Default: nobody. */
  print?: (text: string) => void;
  /** Ends the examination. Default: never. */
  signal?: AbortSignal;
}

export const CONFORM_DEFAULTS = { timeoutMs: 10_000, limitMs: 120_000 } as const;

/**
 * Examines a context engine: drives it through sessions and through the paths of the attempt machine, in processes of
 * its own with a home and a state folder of their own, and says for each clause of the contract whether it holds.
 *
 * Rejects with AttemptError `engine_not_found`, `engine_invalid`, `engine_requirements` when it cannot be loaded here;
 * `aborted` by the signal; `internal` for a fault of this program.
 */
export async function conformEngine(options: ConformOptions): Promise<ConformReport> {
  const { timeoutMs = CONFORM_DEFAULTS.timeoutMs, limitMs = CONFORM_DEFAULTS.limitMs, config = {} } = options;
  const base = await realpath(await mkdtemp(path.join(tmpdir(), 'codex-attempt-conform-')));
  try {
    const folder = path.join(base, 'work');
    const env = isolatedEnvironment(options.env, base);
    for (const made of [folder, ...env.folders]) await mkdir(made, { recursive: true });
    const assignment = { spec: locate(options.spec, options.cwd), config, folder, timeoutMs, limitMs };
    const { print = () => undefined, signal = new AbortController().signal } = options;
    const perform = (task: Assignment['task']): Promise<Told> =>
      runEngineProcess({ ...assignment, task }, { env: env.variables, print, signal });
    const told = [await perform({ kind: 'keep' })];
    const kept = told[0]?.done?.kept ?? null;
    // At once: an engine with one memory for all sessions shows another state of it later.
    if (kept !== null) told.push(await perform({ kind: 'again', kept }));
    told.push(await perform({ kind: 'examine' }));
    return reportOf(told);
  } finally {
    await rm(base, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A path becomes absolute: the engine's own working folder is another. What cannot be found is told by the loader. */
function locate(spec: string, cwd: string): string {
  const hash = spec.lastIndexOf('#');
  const readings = [[spec, ''], ...(hash > 0 ? [[spec.slice(0, hash), spec.slice(hash)]] : [])];
  for (const [target = '', id = ''] of readings) {
    if (target === EXAMPLE_ENGINE) return `${target}${id}`;
    const found = target.trim() === '' ? null : resolveModule(target, cwd);
    if (found?.ok === true) return `${found.path}${id}`;
    if (found !== null && target === (readings.at(-1)?.[0] ?? '')) {
      throw new AttemptError('engine_not_found', `no such engine: nothing to load at ${found.tried}`, {
        data: { spec },
      });
    }
  }
  throw new AttemptError('engine_not_found', 'no engine was named');
}

function reportOf(told: readonly Told[]): ConformReport {
  const last = told.at(-1);
  if (last === undefined) throw new AttemptError('internal', 'no process of the examination has told anything');
  const states = new Map<ClauseId, ClauseState>();
  for (const [id, state] of told.flatMap((each) => [...each.states])) {
    const known = states.get(id);
    states.set(id, known === undefined ? state : mergeStates(known, state));
  }
  const ended = told.find((each) => each.ended !== null)?.ended ?? null;
  const clauses = clauseReports(states, ended ?? 'no call came to it');
  return {
    type: 'conform',
    ok: clauses.every(({ verdict }) => verdict !== 'broken'),
    engine: last.engine,
    clauses,
    paths: last.done?.paths ?? { total: 0, driven: 0, leftOut: 0 },
    calls: told.reduce((sum, { calls }) => sum + calls, 0),
    longestStallMs: Math.max(...told.map(({ done }) => done?.longestStallMs ?? 0)),
    ...(ended === null ? {} : { ended }),
  };
}
