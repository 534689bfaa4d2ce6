import { type ContextEngine, CURRENT_TURN_FENCE, type EngineInfo, TURN_ADVANCEMENT } from '../../engine/contract.ts';
import type { ControlledScript } from './script.ts';

export type OptionalMethod = 'bootstrap' | 'ingestBatch' | 'afterTurn' | 'commitTurn' | 'maintain';

export interface EngineSetup {
  info?: Partial<EngineInfo> | undefined;
  /** Optional methods that the engine has. Default: bootstrap, afterTurn, maintain. */
  methods?: readonly OptionalMethod[] | undefined;
  /** What `assemble` adds to the history that it was given. */
  assembly?: Readonly<Record<string, unknown>> | undefined;
}

/** What a durable engine declares (spec D1). */
export const DURABLE_INFO: Partial<EngineInfo> = {
  transcriptSemantics: { currentTurnFence: CURRENT_TURN_FENCE, turnAdvancementIdempotency: TURN_ADVANCEMENT },
};

export const DURABLE_METHODS: readonly OptionalMethod[] = ['bootstrap', 'commitTurn', 'maintain'];

/** An engine whose every method can succeed, fail, hang or answer garbage, by the script; calls are `engine.<method>`. */
export function controlledEngine(script: ControlledScript, setup: EngineSetup = {}): ContextEngine {
  const { methods = ['bootstrap', 'afterTurn', 'maintain'], assembly = {} } = setup;
  const optional = {
    bootstrap: (params) => script.run('engine.bootstrap', params, () => undefined),
    ingestBatch: (params) => script.run('engine.ingestBatch', params, () => undefined),
    afterTurn: (params) => script.run('engine.afterTurn', params, () => undefined),
    commitTurn: (params) => script.run('engine.commitTurn', params, () => ({ status: 'committed' })),
    maintain: (params) => script.run('engine.maintain', params, () => undefined),
  } satisfies Pick<ContextEngine, OptionalMethod>;
  const offered = Object.fromEntries(methods.map((method) => [method, optional[method]]));
  return {
    info: { id: 'controlled', name: 'Controlled', ...setup.info },
    assemble: (params) => script.run('engine.assemble', params, () => ({ messages: params.messages, ...assembly })),
    ingest: (params) => script.run('engine.ingest', params, () => undefined),
    compact: (params) => script.run('engine.compact', params, () => ({ ok: true, compacted: true })),
    ...offered,
  };
}
