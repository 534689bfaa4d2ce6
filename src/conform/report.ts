import { redact } from '../observe/redact.ts';
import { CLAUSES, type ClauseId } from './clauses.ts';
import type { ClauseState } from './verdicts.ts';

export type Verdict = 'held' | 'broken' | 'not-exercised';

/** What is known of one clause of the contract. */
export interface ClauseReport {
  id: ClauseId;
  title: string;
  /** Numbers of the specification. */
  spec: string;
  verdict: Verdict;
  /** How often it was looked at. */
  runs: number;
  /** The next three are there when it is broken; `path` is the shortest way to it that was found. */
  expected?: string;
  found?: string;
  path?: readonly string[];
  /** Why it was not exercised. */
  reason?: string;
}

/** The engine as it presents itself. */
export interface ExaminedEngine {
  id: string;
  name: string;
  version: string | null;
  /** The file that was loaded; `example` for the one that ships. */
  source: string;
  /** The method by which the host tells it of a turn. */
  finalizer: 'commitTurn' | 'afterTurn' | 'ingestBatch' | 'ingest';
  /** Optional methods that it has. */
  methods: readonly string[];
}

/** What `conform` has found out. */
export interface ConformReport {
  type: 'conform';
  /** No clause is broken. */
  ok: boolean;
  engine: ExaminedEngine;
  clauses: readonly ClauseReport[];
  /**
   * Paths of the attempt machine on which this engine is asked something: how many there are, on how many it was led to
   * the end, and how many there was no time for. The rest went another way because of what the engine answered.
   */
  paths: { total: number; driven: number; leftOut: number };
  /** Calls of the engine. */
  calls: number;
  /** Longest standstill of the event loop in one call, in milliseconds; 0: none was noticed. */
  longestStallMs: number;
  /** Why the examination ended early. */
  ended?: string;
}

/** Makes the clauses of a report. What was never looked at needs a reason: `fallback`, when it has none of its own. */
export function clauseReports(states: ReadonlyMap<ClauseId, ClauseState>, fallback: string): ClauseReport[] {
  return CLAUSES.map((clause) => {
    const { runs, broken, reason } = states.get(clause.id) ?? { runs: 0, broken: null, reason: null };
    if (broken !== null) {
      const { expected, found, path } = broken;
      return { ...clause, verdict: 'broken', runs, expected: redact(expected), found: redact(found), path };
    }
    if (runs > 0) return { ...clause, verdict: 'held', runs };
    return { ...clause, verdict: 'not-exercised', runs, reason: redact(reason ?? fallback) };
  });
}

/** Puts together what two processes have found out of one clause. */
export function mergeStates(one: ClauseState, other: ClauseState): ClauseState {
  const [first, second] = [one.broken, other.broken];
  const isSecond = second !== null && (first === null || second.path.length < first.path.length);
  return {
    runs: one.runs + other.runs,
    broken: isSecond ? second : first,
    reason: one.reason ?? other.reason,
  };
}

const WORDS: Readonly<Record<Verdict, string>> = {
  held: 'held',
  broken: 'BROKEN',
  'not-exercised': 'not exercised',
};

export interface ReportTextOptions {
  /** May colour a verdict, whose text is padded to one width. Default: as it is. */
  mark?: (verdict: Verdict, text: string) => string;
  /** Makes one line of text that an engine has a hand in. Default: as it is. */
  clean?: (text: string) => string;
}

/** The report for people. */
export function reportText(report: ConformReport, options: ReportTextOptions = {}): string {
  const { mark = (_verdict, text) => text, clean = (text) => text } = options;
  const { engine, clauses, paths, calls, longestStallMs, ended } = report;
  const width = Math.max(...clauses.map(({ id }) => id.length));
  const lines = clauses.flatMap((clause) => {
    const verdict = mark(clause.verdict, WORDS[clause.verdict].padEnd(WORDS['not-exercised'].length));
    const head = `${verdict}  ${clause.id.padEnd(width)}  ${clause.title}`;
    if (clause.verdict === 'not-exercised') return [`${head}: ${clean(clause.reason ?? '')}`];
    if (clause.verdict === 'held') return [head];
    return [
      head,
      `    expected: ${clean(clause.expected ?? '')}`,
      `    found:    ${clean(clause.found ?? '')}`,
      `    path:     ${clean(pathText(clause.path ?? []))}`,
    ];
  });
  const count = (verdict: Verdict): number => clauses.filter((clause) => clause.verdict === verdict).length;
  const version = engine.version === null ? '' : ` ${engine.version}`;
  return [
    clean(`${engine.id}${version} (${engine.source}), finalized by ${engine.finalizer}()`),
    '',
    ...lines,
    '',
    `${count('held')} held, ${count('broken')} broken, ${count('not-exercised')} not exercised`,
    `${calls} calls, ${paths.driven} of ${paths.total} paths${paths.leftOut === 0 ? '' : ` (no time for ${paths.leftOut})`}, ` +
      `longest standstill of the event loop ${longestStallMs} ms`,
    ...(ended === undefined ? [] : [clean(`ended early: ${ended}`)]),
    '',
  ].join('\n');
}

/** One step after the other; the same one several times running is said once. */
function pathText(path: readonly string[]): string {
  const parts: { step: string; times: number }[] = [];
  for (const step of path) {
    const last = parts.at(-1);
    if (last?.step === step) last.times += 1;
    else parts.push({ step, times: 1 });
  }
  return parts.map(({ step, times }) => (times === 1 ? step : `${step} (${times} times)`)).join(' → ');
}
