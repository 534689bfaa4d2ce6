/**
 * The engine that comes with this package: a sliding window with a budget, and a running digest of what fell out. It is
 * an example to read for authors of engines; it keeps every promise that the contract asks for, and calls no model.
 *
 * How it keeps them:
 * - The host's transcript is the truth. The engine keeps the digest, the rows of the window and a ledger of committed
 *   turns, in one file per session that is replaced whole; it keeps nothing in memory between calls.
 * - Rows are stored by their position in the transcript, so a row that arrives twice (an import, then a late commit) is
 *   stored once.
 * - `commitTurn` is atomic (one file, one rename) and idempotent (the ledger knows the key and a hash of the turn).
 * - `assemble` only reads. Equal history, state and budget give an equal answer.
 * - What the digest says goes to the model as a message. The system prompt addition only explains it: words of the
 *   conversation must not gain the rank of instructions.
 */

import { createRequire } from 'node:module';
import type { AgentMessage } from '../transcript/messages.ts';
import {
  type AssembleParams,
  type AssembleResult,
  type CommitTurnParams,
  type CommitTurnResult,
  type CompactParams,
  type CompactResult,
  type ContextEngine,
  CURRENT_TURN_FENCE,
  type EngineCallBase,
  type EngineInfo,
  type MaintainParams,
  type MaintainResult,
  type SessionTarget,
  TURN_ADVANCEMENT,
} from './contract.ts';
import { sessionKeyOf } from './host-params.ts';
import { CHARS_PER_TOKEN, estimateTokens } from './tokens.ts';
import { type WindowEngineConfig, type WindowSettings, windowSettings } from './window-config.ts';
import {
  digestText,
  endOf,
  place,
  type RollOptions,
  reconcile,
  roll,
  tokensOf,
  view,
  type WindowRow,
} from './window-rollup.ts';
import { hashOf, readState, removeState, stateFileOf, type WindowState, writeState } from './window-state.ts';

/** Tokens of the window where the host states no budget. */
const FALLBACK_BUDGET = 128_000;

/** The messages of the visible branch, root to leaf. */
export type ReadTranscript = (target: Partial<SessionTarget>) => Promise<readonly AgentMessage[]>;

const ID = 'window';

/**
 * Makes the engine; throws when the configuration is wrong. `readTranscript` is for tests: hosts serve the transcript
 * through the plug-in SDK.
 */
export function createWindowEngine(
  config: WindowEngineConfig = {},
  readTranscript: ReadTranscript = readThroughSdk,
): ContextEngine & { forget(session: EngineCallBase): Promise<void> } {
  return new WindowEngine(config, readTranscript);
}

class WindowEngine implements ContextEngine {
  readonly info: EngineInfo;
  readonly #config: WindowSettings;
  readonly #readTranscript: ReadTranscript;
  /** Calls that change the state wait for each other: maintenance in the background may meet a commit. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: WindowEngineConfig, readTranscript: ReadTranscript) {
    this.#config = windowSettings(config);
    this.#readTranscript = readTranscript;
    this.info = {
      id: ID,
      name: 'Sliding window with digest',
      version: '1',
      ownsCompaction: true,
      turnMaintenanceMode: this.#config.turnMaintenanceMode,
      transcriptSemantics: { currentTurnFence: CURRENT_TURN_FENCE, turnAdvancementIdempotency: TURN_ADVANCEMENT },
      hostRequirements: { 'agent-run': { requiredCapabilities: ['bootstrap', 'assemble-before-prompt'] } },
    };
  }

  /** Takes in the session as it stands. Runs before every attempt, so it must cost little and change little. */
  async bootstrap(params: EngineCallBase): Promise<{ bootstrapped: boolean; importedMessages: number }> {
    const target = targetOf(params) ?? { sessionId: params.sessionId, sessionKey: sessionKeyOf(params) };
    const history = await this.#readTranscript(target);
    return this.#change(params, (state) => {
      const content = roll(reconcile(state, history), this.#rolling(budgetOf(params)));
      return {
        state: { ...state, ...content },
        answer: { bootstrapped: true, importedMessages: Math.max(0, history.length - endOf(state)) },
      };
    });
  }

  /** The newest messages that fit, the digest of the rest before them. Writes nothing. */
  async assemble(params: AssembleParams): Promise<AssembleResult> {
    const limit = Math.min(params.tokenBudget ?? FALLBACK_BUDGET, this.#config.windowTokens);
    const state = await readState(this.#file(params), params.sessionId);
    const content = roll(reconcile(state, params.messages), this.#rolling(limit));
    const messages = view(content, limit);
    const { count } = content.digest;
    return {
      messages,
      estimatedTokens: estimateTokens(messages),
      systemPromptAddition: additionFor(count),
      ...(this.#config.mode === 'thread_bootstrap'
        ? { contextProjection: { mode: 'thread_bootstrap', epoch: epochOf(params, content.digest) } }
        : {}),
    };
  }

  /** Stores an accepted turn, once. A turn that has come before is answered `duplicate` and changes nothing. */
  async commitTurn(params: CommitTurnParams): Promise<CommitTurnResult> {
    const { advancementKey: key, admission, terminal, messages, isHeartbeat } = params;
    const first = admission.activeMessagePosition;
    if (messages.length !== terminal.activeMessagePosition - first + 1) {
      throw new Error(`the turn has ${messages.length} rows, its anchors say otherwise`);
    }
    const hash = hashOf([first, terminal.entryId, messages]);
    return this.#change<CommitTurnResult>(params, (state) => {
      const known = state.ledger.find((entry) => entry.key === key);
      if (known !== undefined && known.hash !== hash)
        throw new Error('this advancement key has committed another turn');
      if (known !== undefined) return { state: null, answer: { status: 'duplicate' } };
      const rows = messages.map(
        (message, index): WindowRow => ({ position: first + index, message: isHeartbeat === true ? null : message }),
      );
      const content = roll(place(state, rows), this.#rolling(budgetOf(params)));
      return {
        state: { ...state, ...content, ledger: [...state.ledger, { key, hash }] },
        answer: { status: 'committed' },
      };
    });
  }

  /** For hosts without the durable contract. Not idempotent by itself; the next bootstrap puts it right. */
  async ingestBatch(
    params: EngineCallBase & { messages: AgentMessage[]; isHeartbeat?: boolean },
  ): Promise<{ ingestedCount: number }> {
    const { messages, isHeartbeat } = params;
    return this.#change(params, (state) => {
      const rows = messages.map(
        (message, index): WindowRow => ({
          position: endOf(state) + index,
          message: isHeartbeat === true ? null : message,
        }),
      );
      const content = roll(place(state, rows), this.#rolling(budgetOf(params)));
      return { state: { ...state, ...content }, answer: { ingestedCount: isHeartbeat === true ? 0 : messages.length } };
    });
  }

  async ingest(
    params: EngineCallBase & { message: AgentMessage; isHeartbeat?: boolean },
  ): Promise<{ ingested: boolean }> {
    const { message, ...rest } = params;
    const { ingestedCount } = await this.ingestBatch({ ...rest, messages: [message] });
    return { ingested: ingestedCount === 1 };
  }

  /** Moves the older half of the window into the digest; with `force` also when everything fits. */
  async compact(params: CompactParams): Promise<CompactResult> {
    return this.#change<CompactResult>(params, (state) => {
      const tokensBefore = tokensOf(state);
      const limit = Math.min(params.tokenBudget ?? budgetOf(params), this.#config.windowTokens);
      if (params.force !== true && tokensBefore <= limit) {
        return {
          state: null,
          answer: { ok: true, compacted: false, reason: 'below threshold', result: { tokensBefore } },
        };
      }
      const target = Math.min(limit, tokensBefore - 1);
      // Half of it for the digest, so that a short session leaves a line for each row; half for the newest rows.
      const half = Math.floor(target / 2);
      const digestChars = Math.min(this.#config.digestChars, half * CHARS_PER_TOKEN);
      const content = roll(state, {
        limit: target,
        keep: half + Math.ceil(digestChars / CHARS_PER_TOKEN),
        digestChars,
      });
      const tokensAfter = tokensOf(content);
      // A few short rows are shorter than a digest of them, or than one in which none of them has a line.
      if (content.digestedTo === state.digestedTo || tokensAfter >= tokensBefore || content.digest.lines.length === 0) {
        return {
          state: null,
          answer: { ok: true, compacted: false, reason: 'nothing to compact', result: { tokensBefore } },
        };
      }
      const result = { summary: digestText(content.digest), tokensBefore, tokensAfter };
      return { state: { ...state, ...content }, answer: { ok: true, compacted: true, result } };
    });
  }

  /** Forgets committed turns that no host will try again. The transcript is never rewritten. */
  async maintain(params: MaintainParams): Promise<MaintainResult> {
    params.abortSignal?.throwIfAborted();
    return this.#change(params, (state) => {
      const ledger = state.ledger.slice(-this.#config.ledgerSize);
      const trimmed = state.ledger.length - ledger.length;
      return {
        state: trimmed === 0 ? null : { ...state, ledger },
        answer: { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason: `${trimmed} ledger entries trimmed` },
      };
    });
  }

  /** Removes what is kept of a session; for the end of its life. */
  async forget(session: EngineCallBase): Promise<void> {
    await removeState(this.#file(session));
  }

  #rolling(limit: number): RollOptions {
    const tokens = Math.min(limit, this.#config.windowTokens);
    // A quarter of a small window at most.
    return { limit: tokens, digestChars: Math.min(this.#config.digestChars, Math.max(0, tokens)) };
  }

  #file(params: EngineCallBase): string {
    return stateFileOf({
      stateDir: this.#config.stateDir,
      sessionKey: sessionKeyOf(params),
      sessionTarget: targetOf(params),
    });
  }

  /** Reads, decides, writes. `state: null` writes nothing. A failed write leaves the file as it was. */
  #change<T>(
    params: EngineCallBase,
    decide: (state: WindowState) => { state: WindowState | null; answer: T },
  ): Promise<T> {
    const run = async (): Promise<T> => {
      const file = this.#file(params);
      const { state, answer } = decide(await readState(file, params.sessionId));
      if (state !== null) await writeState(file, state);
      return answer;
    };
    const done = this.#last.then(run, run);
    this.#last = done;
    return done;
  }
}

function targetOf(params: EngineCallBase): SessionTarget | undefined {
  return params.sessionTarget ?? params.runtimeContext?.sessionTarget;
}

function budgetOf(params: EngineCallBase): number {
  return params.runtimeContext?.tokenBudget ?? FALLBACK_BUDGET;
}

function epochOf(params: EngineCallBase, digest: unknown): string {
  return `digest-v1:${hashOf([sessionKeyOf(params), digest]).slice(0, 32)}`;
}

/** Changes only when the digest does, so that it does not disturb prompt caches. */
function additionFor(count: number): string {
  const window = 'The conversation before this turn is kept by a sliding window.';
  if (count === 0) return `${window} Nothing has fallen out of it so far.`;
  return (
    `${window} Its first message is a digest of ${count} earlier message${count === 1 ? '' : 's'} that fell out of it: ` +
    'one shortened line for each, the oldest first. Ask the user when you need a detail that the digest leaves out.'
  );
}

/**
 * Reads the visible branch through the plug-in SDK, as engines in OpenClaw do. `require`, so that the import is made
 * only when it is needed and a host without the SDK fails this call and no other.
 */
async function readThroughSdk(target: Partial<SessionTarget>): Promise<readonly AgentMessage[]> {
  const sdk: unknown = createRequire(import.meta.url)('openclaw/plugin-sdk/session-transcript-runtime');
  const { readVisibleSessionTranscriptMessageEntries: read } = sdk as {
    readVisibleSessionTranscriptMessageEntries: (
      target: Partial<SessionTarget>,
    ) => Promise<readonly { message: AgentMessage }[]>;
  };
  return (await read(target)).map((entry) => entry.message);
}

/** The part of OpenClaw's plug-in API that this engine needs. */
interface PluginApi {
  pluginConfig?: WindowEngineConfig;
  registerContextEngine(id: string, factory: () => ContextEngine): void;
  on(name: string, handler: (event: unknown) => unknown): void;
}

/** The plug-in, as `--engine` and OpenClaw load it. */
export default {
  id: ID,
  name: 'Sliding window with digest',
  description: 'Keeps the newest messages within the budget and a running digest of the rest.',
  register(api: PluginApi): void {
    const engine = createWindowEngine(api.pluginConfig ?? {});
    api.registerContextEngine(ID, () => engine);
    // The end of a session ends what is kept of it. Other ends (the process leaves) have no `reason` of this kind.
    api.on('session_end', async (event) => {
      const ended = endedSession(event);
      if (ended !== null) await engine.forget(ended);
    });
  },
};

function endedSession(event: unknown): EngineCallBase | null {
  if (typeof event !== 'object' || event === null) return null;
  const { reason, sessionId, sessionKey, sessionFile, sessionTarget } = event as EngineCallBase & { reason?: unknown };
  if ((reason !== 'reset' && reason !== 'deleted') || typeof sessionId !== 'string') return null;
  const named = { sessionId, sessionKey: sessionKey ?? sessionId };
  const target =
    sessionTarget ?? (sessionFile === undefined ? null : { ...named, agentId: '', storePath: sessionFile });
  return { ...named, ...(target === null ? {} : { sessionTarget: target }) };
}
