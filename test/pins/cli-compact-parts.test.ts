import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compactionEndedBy, newCompaction, noteCompactionEvent } from '../../src/cli/compact-events.ts';
import { readCompactOptions } from '../../src/cli/compact-options.ts';
import { tellCompaction } from '../../src/cli/compact-tell.ts';
import { eventLine } from '../../src/cli/event-line.ts';
import { exitOfCompaction } from '../../src/cli/exit.ts';
import type { CliIo } from '../../src/cli/io.ts';
import type { CompactionResult } from '../../src/compact-session.ts';
import { AttemptError } from '../../src/errors.ts';

const BACKEND = { backend: 'codex-app-server' } as const;
const NATIVE: CompactionResult = {
  type: 'compaction.settled',
  ok: true,
  compacted: true,
  primary: 'native',
  reason: null,
  tokensBefore: 900,
  tokensAfter: 100,
  details: { codexNativeCompaction: { ...BACKEND, ok: true, compacted: true, tokensAfter: 100 } },
  attemptId: 'a',
  outcome: 'completed',
  sessionFile: '/s.jsonl',
  sessionId: 's',
  degraded: [],
};
const ENGINE: CompactionResult = {
  ...NATIVE,
  primary: 'engine',
  tokensBefore: 9_000,
  tokensAfter: 400,
  details: { contextEngineCompaction: { ok: true, compacted: true }, ...NATIVE.details },
};
const failed = (result: CompactionResult, code: string, message: string): CompactionResult => ({
  ...result,
  ok: false,
  compacted: false,
  outcome: 'failed',
  error: { code, message },
});

describe('the exit code of a compaction', () => {
  it.each([
    ['completed', NATIVE, 0],
    ['completed without anything to compact', { ...ENGINE, compacted: false }, 0],
    ['aborted', { ...NATIVE, ok: false, outcome: 'aborted' as const }, 130],
    ['failed', failed(NATIVE, 'http_failed', ''), 1],
    ['failed without a bound thread', failed(NATIVE, 'thread_missing', ''), 1],
    ['failed on a busy session', failed(NATIVE, 'session_busy', ''), 1],
    ['out of time', failed(NATIVE, 'budget_compact', ''), 3],
    ['failed in another budget', failed(NATIVE, 'budget_threadStart', ''), 1],
    ['failed on a file that is none', failed(NATIVE, 'session_invalid', ''), 2],
  ])('that %s', (_, result, exit) => {
    expect(exitOfCompaction(result)).toBe(exit);
  });
});

describe('what a person is told of a compaction', () => {
  const lines = (result: CompactionResult, isFaultTold = false): string[] => {
    const told: string[] = [];
    tellCompaction(result, isFaultTold, {
      note: (text) => told.push(`note ${text}`),
      error: (text) => told.push(`error ${text}`),
    });
    return told;
  };
  const notBound = {
    ...BACKEND,
    ok: false,
    compacted: false,
    reason: 'no_thread_binding',
    message: 'no thread',
  } as const;

  it.each<[string, CompactionResult, string]>([
    ['native', NATIVE, 'Codex compacted the native thread: 900 → 100 tokens'],
    ['native, before unknown', { ...NATIVE, tokensBefore: null }, 'Codex compacted the native thread: 100 tokens now'],
    ['native, after unknown', { ...NATIVE, tokensAfter: null }, 'Codex compacted the native thread: 900 tokens before'],
    [
      'native, nothing known',
      { ...NATIVE, tokensBefore: null, tokensAfter: null },
      'Codex compacted the native thread',
    ],
    [
      'engine and native',
      ENGINE,
      'the engine compacted the session: 9000 → 400 tokens; Codex compacted the native thread: 100 tokens now',
    ],
    [
      'engine, native not',
      { ...ENGINE, details: { codexNativeCompaction: notBound } },
      'the engine compacted the session: 9000 → 400 tokens; the native thread was not compacted: no thread (no_thread_binding)',
    ],
    [
      'nothing to compact',
      { ...ENGINE, compacted: false, reason: 'all fits' },
      'the engine had nothing to compact (all fits); Codex compacted the native thread: 100 tokens now',
    ],
    [
      'aborted after the engine',
      {
        ...ENGINE,
        outcome: 'aborted',
        details: { codexNativeCompaction: { ...notBound, reason: 'aborted', message: 'it was interrupted' } },
      },
      'aborted; the engine compacted the session: 9000 → 400 tokens; the native thread was not compacted: it was interrupted (aborted)',
    ],
    ['aborted', { ...NATIVE, ok: false, compacted: false, outcome: 'aborted' }, 'aborted'],
  ])('%s', (_, result, line) => {
    expect(lines(result)).toEqual([`note ${line}`]);
  });

  it('a failure is an error with the way out', () => {
    expect(lines(failed(NATIVE, 'stream_lost', 'It broke off.'))).toEqual([
      'error It broke off; the thread is as it was: try again (stream_lost)',
    ]);
    expect(lines(failed(NATIVE, 'session_busy', 'It is in use. Wait.'))).toEqual([
      'error It is in use. Wait. (session_busy)',
    ]);
    const engineFailed = { contextEngineCompaction: { ok: false, compacted: false }, ...NATIVE.details };
    expect(lines({ ...failed(ENGINE, 'engine_failed', 'it threw'), details: engineFailed })).toEqual([
      "error the engine's compaction failed: it threw (engine_failed); Codex compacted the native thread: 100 tokens now",
    ]);
  });

  it('is not told of a fault twice', () => {
    expect(lines(failed(NATIVE, 'internal', 'a timer threw'), true)).toEqual([]);
  });
});

describe('a compaction that ends without its own word', () => {
  const NOT_ATTEMPTED = { ...BACKEND, ok: false, compacted: false, reason: 'not_attempted' };

  it('before it began: nothing was attempted', () => {
    const soFar = { ...newCompaction(), sessionFile: '/s.jsonl' };
    expect(compactionEndedBy(new AttemptError('engine_invalid', 'bad api_key=abcdef'), soFar)).toEqual({
      type: 'compaction.settled',
      ok: false,
      compacted: false,
      primary: 'native',
      reason: 'not_attempted',
      tokensBefore: null,
      tokensAfter: null,
      details: { codexNativeCompaction: NOT_ATTEMPTED },
      attemptId: null,
      outcome: 'failed',
      sessionFile: '/s.jsonl',
      sessionId: null,
      degraded: [],
      error: { code: 'engine_invalid', message: 'bad api_key=[redacted]' },
    });
  });

  it('an engine that owns compaction stays the primary one', () => {
    const soFar = newCompaction();
    soFar.ownsCompaction = true;
    noteCompactionEvent(soFar, { type: 'attempt.started', attemptId: 'a', sessionId: 's', sessionFile: '/s.jsonl' });
    noteCompactionEvent(soFar, { type: 'attempt.state', state: 'bootstrap', path: 'bootstrap.reading' });
    expect(compactionEndedBy(new AttemptError('aborted', 'twice'), soFar)).toMatchObject({
      primary: 'engine',
      reason: 'context engine compaction failed: it was not begun',
      details: { codexNativeCompaction: NOT_ATTEMPTED },
      attemptId: 'a',
      sessionId: 's',
      outcome: 'aborted',
    });
    noteCompactionEvent(soFar, { type: 'attempt.state', state: 'compacting', path: 'compacting.working' });
    expect(compactionEndedBy(new AttemptError('aborted', 'twice'), soFar)).toMatchObject({
      primary: 'engine',
      reason: 'context engine compaction failed: twice',
      details: {
        contextEngineCompaction: { ok: false, compacted: false, reason: 'twice' },
        codexNativeCompaction: { ...NOT_ATTEMPTED, reason: 'aborted', message: 'twice' },
      },
    });
  });

  it('after it settled: what it came to, with the fault', () => {
    const soFar = { ...newCompaction(), result: NATIVE };
    const error = { code: 'internal', message: 'late' };
    expect(compactionEndedBy(new Error('late'), soFar)).toEqual({ ...NATIVE, error });
    expect(eventLine({ ...NATIVE, error: { ...error, message: 'token=abcdefgh1234' } })).not.toContain('abcdefgh');
  });
});

describe('the options of compact', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-compact-'));
    await writeFile(path.join(folder, 's.jsonl'), '');
    await mkdir(path.join(folder, '.codex-attempt'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const io = (): CliIo => {
    const stream = { write: () => true, on: () => undefined };
    return { env: { HOME: folder }, cwd: folder, stdin: Readable.from([]), stdout: stream, stderr: stream };
  };

  it.each([
    [undefined, null],
    ['90', 90_000],
    ['0', Number.POSITIVE_INFINITY],
  ])('--timeout %s is %s ms; the time of turns in a file is not meant', async (timeout, timeoutMs) => {
    await writeFile(path.join(folder, '.codex-attemptrc.json'), '{"timeout":"7m"}');
    const flags = { session: 's.jsonl', ...(timeout === undefined ? {} : { timeout }) };
    expect(await readCompactOptions(io(), flags)).toMatchObject({ timeoutMs });
  });

  it('tools of the user file are not loaded for it; its engine is', async () => {
    const user = { tools: ['./t.mjs'], engine: './e.mjs' };
    await writeFile(path.join(folder, '.codex-attempt', 'config.json'), JSON.stringify(user));
    expect(await readCompactOptions(io(), { session: 's.jsonl' })).toEqual({
      command: 'compact',
      settings: {
        home: path.join(folder, '.codex-attempt'),
        engine: { spec: './e.mjs', base: path.join(folder, '.codex-attempt') },
        hooks: [],
        tools: [],
        logLevel: 'silent',
      },
      sessionFile: path.join(folder, 's.jsonl'),
      cwd: folder,
      rehearsal: null,
      json: false,
      progress: false,
      quiet: false,
      traceFile: null,
      traceText: false,
      warnings: [],
      instructions: null,
      timeoutMs: null,
    });
  });
});
