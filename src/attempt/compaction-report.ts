import type { CompactResult } from '../engine/contract.ts';
import { type AttemptRecord, activeEngine } from './record.ts';
import type { CompactionReport, NativeCompactionReport } from './types.ts';

/** What the compaction of an attempt came to so far, as its states put it down. */
export interface CompactionFacts {
  /** Input tokens of the last model request on the thread; null: not known. */
  tokensBefore: number | null;
  engine?: { ok: boolean; compacted: boolean; reason?: string; result?: CompactResult['result'] };
  maintenance?: { ok: boolean; reason?: string };
  native?: Omit<NativeCompactionReport, 'backend'>;
}

/** The facts of this attempt's compaction, begun when they are first asked for. */
export function factsOf(record: AttemptRecord): CompactionFacts {
  record.slots.compaction ??= { tokensBefore: currentTokens(record) };
  return record.slots.compaction;
}

/**
 * How full the thread at hand is, as far as Codex has said so: the turn's last request, else what the binding has kept
 * of an earlier turn. Null: unknown, which is what it is after a native compaction (spec K3, BL-36).
 */
export function currentTokens(record: AttemptRecord): number | null {
  const { turn, binding } = record.slots;
  if (turn?.projector.usage.currentTokenCount != null) return turn.projector.usage.currentTokenCount;
  const thread = binding?.threads.find(({ threadId }) => turn === undefined || threadId === turn.threadId);
  return thread?.context?.tokens ?? null;
}

/**
 * The report of this attempt's compaction (spec 8). Undefined when the attempt has not come to one. For an explicit
 * compaction there always is one.
 */
export function compactionReport(record: AttemptRecord): CompactionReport | undefined {
  const { compaction: facts } = record.slots;
  const isExplicit = record.params.request === 'compact';
  if (facts === undefined && !isExplicit) return undefined;
  const ownsCompaction = activeEngine(record)?.info.ownsCompaction === true;
  const { compaction, cause } = record.machine();
  // The machine says what it came to: what was done too late for its budget has failed, whatever it has put down.
  const failure = isExplicit && compaction === 'failed' ? (cause?.message ?? null) : null;
  return reportOf(facts ?? { tokensBefore: null }, { isExplicit, ownsCompaction, failure });
}

/**
 * The engine's result is primary when it owns compaction, the native one is told apart under `details`. `isExplicit`: a
 * native compaction belongs to it, so that its absence is told. `failure`: why the whole failed, if it did.
 */
export function reportOf(
  { tokensBefore, engine, maintenance, native }: CompactionFacts,
  {
    isExplicit,
    ownsCompaction,
    failure = null,
  }: { isExplicit: boolean; ownsCompaction: boolean; failure?: string | null },
): CompactionReport {
  const primary = engine !== undefined || ownsCompaction ? 'engine' : 'native';
  const details: CompactionReport['details'] = {
    ...(engine === undefined ? {} : { contextEngineCompaction: shortOf(engine) }),
    ...(maintenance === undefined ? {} : { contextEngineMaintenance: maintenance }),
    ...(native === undefined && !isExplicit
      ? {}
      : { codexNativeCompaction: { backend: 'codex-app-server', ...(native ?? NOT_ATTEMPTED) } }),
  };
  if (primary === 'native') {
    const { ok, compacted, reason = null, tokensAfter = null } = native ?? NOT_ATTEMPTED;
    const isLate = ok && failure !== null;
    const whole = { ok: ok && !isLate, reason: isLate ? ('timed_out' as const) : reason };
    return { ...whole, compacted, primary, tokensBefore, tokensAfter, details };
  }
  const { compacted = false, reason: said = null, result } = engine ?? {};
  const ok = engine?.ok === true && failure === null;
  const reason = engine?.ok === true && !ok ? failure : said;
  const nativeCompacted = native?.compacted === true;
  return {
    ok,
    // A native compaction after a failed engine has made the thread smaller, and is no engine compaction all the same.
    compacted: compacted || (!ok && nativeCompacted),
    primary,
    reason: ok ? reason : `context engine compaction failed: ${reason ?? 'it was not begun'}`,
    tokensBefore: result?.tokensBefore ?? tokensBefore,
    tokensAfter: result?.tokensAfter ?? null,
    ...(result === undefined ? {} : { result }),
    details,
  };
}

const NOT_ATTEMPTED: Omit<NativeCompactionReport, 'backend'> = {
  ok: false,
  compacted: false,
  reason: 'not_attempted',
};

function shortOf({ ok, compacted, reason }: NonNullable<CompactionFacts['engine']>) {
  return { ok, compacted, ...(reason === undefined ? {} : { reason }) };
}
