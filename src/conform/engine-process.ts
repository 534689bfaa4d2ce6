import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AttemptError } from '../errors.ts';
import type { ClauseId } from './clauses.ts';
import type { Assignment, News } from './news.ts';
import { type ExaminedEngine, mergeStates } from './report.ts';
import type { ClauseState, Finding } from './verdicts.ts';

/** What one process has told. */
export interface Told {
  engine: ExaminedEngine;
  states: ReadonlyMap<ClauseId, ClauseState>;
  /** Null: it did not come to its end. */
  done: Extract<News, { type: 'done' }> | null;
  calls: number;
  /** Why it did not come to its end. */
  ended: string | null;
}

export interface EngineProcessOptions {
  /** All of its environment. */
  env: Readonly<Record<string, string>>;
  /** Gets what it prints. */
  print: (text: string) => void;
  /** Ends it. */
  signal: AbortSignal;
}

/** Milliseconds that an engine may take to load. */
export const LOAD_MS = 30_000;
/** Milliseconds on top of a call's own limit, after which a process that gives no sign of life is blocked. */
const SILENCE_MS = 2_000;
/**
 * So many limits of a call may pass without a call or a finding, though the process lives: a call may be made twice and
 * asked again three times, each may take its limit, and hooks come between calls.
 */
const IDLE_LIMITS = 12;
/** What a process says when it ends in order. */
const OVER = { kind: 'over' } as const;

/**
 * Starts a process for the assignment and listens to it until it has ended. A process that is blocked, or ended by the
 * engine, is a finding. Rejects with AttemptError as `loadEngine` does, `aborted`, or `internal`.
 */
export async function runEngineProcess(assignment: Assignment, options: EngineProcessOptions): Promise<Told> {
  const { env, print, signal } = options;
  const child = fork(WORKER, [], { cwd: assignment.folder, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', print);
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  try {
    return await listen(child, assignment, signal);
  } finally {
    kill();
    process.off('exit', kill);
  }
}

const WORKER = fileURLToPath(new URL('worker.js', import.meta.url));

function listen(child: ChildProcess, assignment: Assignment, signal: AbortSignal): Promise<Told> {
  return new Promise((resolve, reject) => {
    const states = new Map<ClauseId, ClauseState>();
    let engine: ExaminedEngine | null = null;
    let done: Told['done'] = null;
    let last: { method: string; path: readonly string[] } | null = null;
    let calls = 0;
    let stop: Error | typeof OVER | null = null;
    let isSilent = false;
    let isIdle = false;
    let watch: NodeJS.Timeout | undefined;
    let idleWatch: NodeJS.Timeout | undefined;

    const heard = (): void => {
      clearTimeout(watch);
      const ms = engine === null ? LOAD_MS : assignment.timeoutMs + SILENCE_MS;
      watch = setTimeout(() => {
        isSilent = true;
        child.kill('SIGKILL');
      }, ms);
    };
    const goesOn = (): void => {
      clearTimeout(idleWatch);
      idleWatch = setTimeout(() => {
        isIdle = true;
        child.kill('SIGKILL');
      }, assignment.timeoutMs * IDLE_LIMITS);
    };
    const end = (why: Error | typeof OVER): void => {
      stop ??= why;
      child.kill('SIGKILL');
    };
    const onAbort = (): void => end(new AttemptError('aborted', 'the examination was stopped'));
    const blame = (id: ClauseId, expected: string, found: string): void => {
      const finding: Finding = { expected, found, path: last?.path ?? ['load'] };
      const known = states.get(id) ?? { runs: 0, broken: null, reason: null };
      states.set(id, mergeStates(known, { runs: 1, broken: finding, reason: null }));
    };

    child.on('message', (news: News) => {
      heard();
      if (news.type !== 'beat') goesOn();
      switch (news.type) {
        case 'beat':
          return;
        case 'refused':
          return end(new AttemptError(news.code, news.message));
        case 'failed':
          return end(new AttemptError('internal', news.message));
        case 'loaded':
          engine = news.engine;
          return;
        case 'call':
          last = { method: news.method, path: news.path };
          calls += 1;
          return;
        case 'clause':
          states.set(news.id, news.state);
          return;
        case 'done':
          done = news;
          return end(OVER);
      }
    });
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      clearTimeout(watch);
      clearTimeout(idleWatch);
      signal.removeEventListener('abort', onAbort);
      if (stop !== null && stop !== OVER && 'message' in stop) return reject(stop);
      const what = last === null ? 'it was loaded' : `${last.method}()`;
      if (engine === null)
        return reject(new AttemptError('engine_invalid', unloaded(assignment.spec, isSilent, code, killedBy)));
      let ended: string | null = null;
      if (isSilent) {
        const ms = assignment.timeoutMs + SILENCE_MS;
        ended = `${what} blocked the event loop for more than ${ms / 1000} s`;
        blame('event-loop', 'a call lets the event loop go on', `${ended}, and its process was ended`);
      } else if (isIdle) {
        ended = `nothing came after ${what} for ${(assignment.timeoutMs * IDLE_LIMITS) / 1000} s`;
        blame('hangs', 'the engine lets the host go on', `${ended}, and its process was ended`);
      } else if (stop === null) {
        ended = `the process of the engine ended in ${what}, ${killedBy === null ? `with code ${code}` : `by ${killedBy}`}`;
        blame('inside', 'the engine does not end the process', ended);
      }
      resolve({ engine, states, done, calls: done?.calls ?? calls, ended });
    });
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    heard();
    child.send(assignment);
  });
}

function unloaded(spec: string, isSilent: boolean, code: number | null, signal: string | null): string {
  if (isSilent) return `${spec} could not be loaded: it took longer than ${LOAD_MS / 1000} s`;
  return `${spec} could not be loaded: it ended the process ${signal === null ? `with code ${code}` : `by ${signal}`}`;
}
