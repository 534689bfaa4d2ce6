import { type ContextEngine, CURRENT_TURN_FENCE, TURN_ADVANCEMENT } from './contract.ts';

/** The id that means "no engine"; reserved, an engine may not register it. */
export const LEGACY_ENGINE_ID = 'legacy';

/**
 * Stands for the host's own behaviour where a host insists on an engine object. It is never called: see
 * `isActiveEngine`. Its methods answer all the same, each with the do-nothing answer of the contract.
 */
export const legacyEngine: ContextEngine = {
  info: { id: LEGACY_ENGINE_ID, name: 'No context engine' },
  assemble: ({ messages }) => ({ messages, estimatedTokens: 0 }),
  ingest: () => ({ ingested: false }),
  compact: () => ({ ok: true, compacted: false, reason: 'the legacy engine does not compact' }),
};

/** Whether there is an engine to call. Absent and `legacy` are not (spec T3). */
export function isActiveEngine(engine: ContextEngine | null | undefined): engine is ContextEngine {
  return engine !== null && engine !== undefined && engine.info.id !== LEGACY_ENGINE_ID;
}

/** Whether the engine is finalized by `commitTurn` alone: both semantics declared and the method there (spec D1). */
export function isDurableEngine(engine: ContextEngine): boolean {
  return declaresDurableTurns(engine) && typeof engine.commitTurn === 'function';
}

/** Both semantics declared, with or without the method. */
export function declaresDurableTurns(engine: ContextEngine): boolean {
  const semantics = engine.info.transcriptSemantics;
  return (
    semantics?.currentTurnFence === CURRENT_TURN_FENCE && semantics.turnAdvancementIdempotency === TURN_ADVANCEMENT
  );
}
