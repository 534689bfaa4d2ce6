import type { ErrorCode } from '../errors.ts';
import type { ClauseId } from './clauses.ts';
import type { ConformReport, ExaminedEngine } from './report.ts';
import type { ClauseState } from './verdicts.ts';

/** A session that another process shall go on with, and what the engine showed of it last. JSON only. */
export interface KeptSession {
  number: number;
  sessionId: string;
  steps: readonly string[];
  /** When it was shown, in milliseconds since the epoch. */
  at: number;
  /** The assembly, without its epoch. */
  shown: unknown;
  epoch: string | null;
  /** Marked texts of it, each with how often it was there. */
  words: Readonly<Record<string, number>>;
  /** Two looks in a row were equal. */
  stable: boolean;
  /** The last commit and its turn, for an engine that has durable turns. */
  commit: { turn: number; payload: Readonly<Record<string, unknown>> } | null;
}

/** What a process of an examination is told. JSON only. */
export interface Assignment {
  /**
   * `keep`: a conversation for another process; `again`: that process, which goes on with it; `examine`: everything that
   * one process can find out by itself.
   */
  task: { kind: 'keep' | 'examine' } | { kind: 'again'; kept: KeptSession };
  spec: string;
  config: Readonly<Record<string, unknown>>;
  folder: string;
  timeoutMs: number;
  /** Milliseconds after which no further path is begun. */
  limitMs: number;
}

/** What the process of an examination tells, in order. JSON only. */
export type News =
  /** The engine cannot be examined. */
  | { type: 'refused'; code: ErrorCode; message: string }
  | { type: 'loaded'; engine: ExaminedEngine }
  /** It lives. */
  | { type: 'beat' }
  /** A call is about to be made. */
  | { type: 'call'; method: string; path: readonly string[] }
  /** What is now known of a clause. */
  | { type: 'clause'; id: ClauseId; state: ClauseState }
  | ({ type: 'done'; kept: KeptSession | null } & Pick<ConformReport, 'paths' | 'calls' | 'longestStallMs'>)
  /** A fault of this program, not of the engine. */
  | { type: 'failed'; message: string };
