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
    bootstrap: () => undefined,
    ingestBatch: () => undefined,
    afterTurn: () => undefined,
    commitTurn: () => ({ status: 'committed' }),
    maintain: () => undefined,
  } satisfies Pick<ContextEngine, OptionalMethod>;
  return scriptedEngine(script, {
    info: { id: 'controlled', name: 'Controlled', ...setup.info },
    assemble: (params) => ({ messages: params.messages, ...assembly }),
    ingest: () => undefined,
    compact: () => ({ ok: true, compacted: true }),
    ...Object.fromEntries(methods.map((method) => [method, optional[method]])),
  });
}

/** An engine whose every call is steered by the script, and otherwise made to `inner`. */
export function scriptedEngine(script: ControlledScript, inner: ContextEngine): ContextEngine {
  const steered = (method: keyof ContextEngine): object => {
    const call: unknown = inner[method];
    if (typeof call !== 'function') return {};
    return {
      [method]: (params: { abortSignal?: AbortSignal }) =>
        script.run(`engine.${method}`, params, () => Reflect.apply(call, inner, [params]), params.abortSignal),
    };
  };
  return {
    info: inner.info,
    assemble: (params) => script.run('engine.assemble', params, () => inner.assemble(params), params.abortSignal),
    ingest: (params) => script.run('engine.ingest', params, () => inner.ingest(params), params.abortSignal),
    compact: (params) => script.run('engine.compact', params, () => inner.compact(params), params.abortSignal),
    ...steered('bootstrap'),
    ...steered('ingestBatch'),
    ...steered('afterTurn'),
    ...steered('commitTurn'),
    ...steered('maintain'),
  };
}
