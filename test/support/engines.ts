import {
  type AfterTurnParams,
  type AssembleParams,
  type AssembleResult,
  type CommitTurnParams,
  type CompactParams,
  type CompactResult,
  type ContextEngine,
  CURRENT_TURN_FENCE,
  type EngineCallBase,
  type EngineInfo,
  type MaintainParams,
  TURN_ADVANCEMENT,
} from '../../src/engine/contract.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';

export type EngineMethod =
  | 'bootstrap'
  | 'assemble'
  | 'ingest'
  | 'ingestBatch'
  | 'afterTurn'
  | 'commitTurn'
  | 'compact'
  | 'maintain';

export interface EngineCall {
  method: EngineMethod;
  params: Record<string, unknown>;
}

/** What an engine of a test does. A method that is absent here is absent on the engine, but for the required three. */
export interface EngineBehaviour {
  info?: Partial<EngineInfo>;
  bootstrap?: (params: EngineCallBase) => unknown;
  assemble?: (params: AssembleParams) => AssembleResult | Promise<AssembleResult>;
  ingest?: (params: EngineCallBase & { message: AgentMessage }) => unknown;
  ingestBatch?: (params: EngineCallBase & { messages: AgentMessage[] }) => unknown;
  afterTurn?: (params: AfterTurnParams) => unknown;
  commitTurn?: (params: CommitTurnParams) => unknown;
  compact?: (params: CompactParams) => CompactResult | Promise<CompactResult>;
  maintain?: (params: MaintainParams) => unknown;
}

export interface RecordingEngine {
  engine: ContextEngine;
  /** Every call in order, with what it was given. */
  calls: EngineCall[];
  /** The names of the methods called, in order. */
  methods(): EngineMethod[];
  /** The parameters of the calls of one method. */
  of(method: EngineMethod): Record<string, unknown>[];
}

/** What a durable engine declares (spec D1). */
export const DURABLE: Partial<EngineInfo> = {
  transcriptSemantics: { currentTurnFence: CURRENT_TURN_FENCE, turnAdvancementIdempotency: TURN_ADVANCEMENT },
};

/** An engine that writes down each call before it does what the test wants. By default it assembles the history. */
export function recordingEngine(behaviour: EngineBehaviour = {}): RecordingEngine {
  const calls: EngineCall[] = [];
  const recorded =
    <Params extends EngineCallBase, Answer>(method: EngineMethod, does: (params: Params) => Answer) =>
    (params: Params): Answer => {
      calls.push({ method, params: Object.fromEntries(Object.entries(params)) });
      return does(params);
    };
  const engine: ContextEngine = {
    info: { id: 'recorder', name: 'Recorder', ...behaviour.info },
    assemble: recorded('assemble', behaviour.assemble ?? (({ messages }) => ({ messages }))),
    ingest: recorded('ingest', behaviour.ingest ?? (() => ({ ingested: true }))),
    compact: recorded('compact', behaviour.compact ?? (() => ({ ok: true, compacted: false }))),
    ...(behaviour.bootstrap === undefined ? {} : { bootstrap: recorded('bootstrap', behaviour.bootstrap) }),
    ...(behaviour.ingestBatch === undefined ? {} : { ingestBatch: recorded('ingestBatch', behaviour.ingestBatch) }),
    ...(behaviour.afterTurn === undefined ? {} : { afterTurn: recorded('afterTurn', behaviour.afterTurn) }),
    ...(behaviour.commitTurn === undefined ? {} : { commitTurn: recorded('commitTurn', behaviour.commitTurn) }),
    ...(behaviour.maintain === undefined ? {} : { maintain: maintainOf(recorded('maintain', behaviour.maintain)) }),
  };
  return {
    engine,
    calls,
    methods: () => calls.map((call) => call.method),
    of: (method) => calls.filter((call) => call.method === method).map((call) => call.params),
  };
}

function maintainOf(does: (params: MaintainParams) => unknown): NonNullable<ContextEngine['maintain']> {
  return async (params) => {
    await does(params);
    return undefined;
  };
}
