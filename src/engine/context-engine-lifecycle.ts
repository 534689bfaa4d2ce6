/**
 * The steps of a turn that concern the context engine, for any harness (spec 3). The helpers know no harness and keep
 * nothing between calls. None of them rejects: a failure warns once, in a redacted sentence, and is part of the answer.
 */

import type { AttemptError } from '../errors.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { callEngine } from './call-engine.ts';
import { isRuntimeContext } from './hidden-messages.ts';
import { isActiveEngine } from './legacy.ts';
import { beforeTheTurn, callBaseOf, type EngineSessionParams, type RunMaintenance, shownError } from './maintenance.ts';
import { type CheckedAssembly, checkAssembleResult } from './result-checks.ts';
import { estimateTokens } from './tokens.ts';

export { finalizeHarnessContextEngineTurn } from './finalize-turn.ts';
export { runHarnessContextEngineMaintenance } from './maintenance.ts';
export {
  buildHarnessContextEngineRuntimeContext,
  buildHarnessContextEngineRuntimeContextFromUsage,
} from './runtime-context.ts';

export interface BootstrapParams extends EngineSessionParams {
  /** Whether the session file was there before this attempt wrote anything; without one nothing is called. */
  hadSessionFile: boolean;
  /** Hosts without a machine pass it; then bootstrap maintenance runs here, also without a `bootstrap` (spec L7). */
  runMaintenance?: RunMaintenance | undefined;
}

/** `ran`: the engine's `bootstrap` was called. */
export type BootstrapOutcome = { ok: true; ran: boolean } | { ok: false; error: AttemptError };

/** Lets the engine take in a session that existed before (spec L2). */
export async function bootstrapHarnessContextEngine(params: BootstrapParams): Promise<BootstrapOutcome> {
  const engine = params.contextEngine;
  if (!params.hadSessionFile || !isActiveEngine(engine)) return { ok: true, ran: false };
  const session = beforeTheTurn(params);
  const { signal, warn, redact, runMaintenance } = params;
  const ran = typeof engine.bootstrap === 'function';
  if (ran) {
    try {
      await callEngine({ engine, method: 'bootstrap', params: callBaseOf(session), signal, warn, redact });
    } catch (caught) {
      const error = shownError(caught, params);
      warn(`context engine bootstrap failed: ${error.message}`, { answered: true });
      return { ok: false, error };
    }
  }
  const maintained = await runMaintenance?.({ ...session, reason: 'bootstrap' });
  return maintained === undefined || maintained.ok ? { ok: true, ran } : { ok: false, error: maintained.error };
}

export interface AssembleHarnessParams extends EngineSessionParams {
  /** The mirrored history before this turn; the prompt is not in it. */
  messages: readonly AgentMessage[];
  tokenBudget: number;
  /** The names of the tools that the turn really has. */
  availableTools: ReadonlySet<string>;
  citationsMode?: string | undefined;
  modelId: string;
  prompt: string;
}

/** After a failure `messages` is the history as it was: the turn goes on with it and with its own prompt (spec L3). */
export type AssembleOutcome =
  | { ok: true; result: CheckedAssembly }
  | { ok: false; error: AttemptError; messages: AgentMessage[] };

/**
 * Asks the engine what the model shall see. The answer is checked (see `checkAssembleResult`) and never replaced in
 * silence. Without an engine it is the history, as it is.
 */
export async function assembleHarnessContextEngine(params: AssembleHarnessParams): Promise<AssembleOutcome> {
  const engine = params.contextEngine;
  const messages = params.messages.filter((message) => !isRuntimeContext(message));
  if (!isActiveEngine(engine)) return { ok: true, result: { messages, estimatedTokens: estimateTokens(messages) } };
  const { tokenBudget, availableTools, citationsMode, modelId, prompt, signal, warn, redact } = params;
  const request = {
    ...callBaseOf(beforeTheTurn(params)),
    messages,
    tokenBudget,
    availableTools: new Set(availableTools),
    model: modelId,
    prompt,
    citationsMode,
  };
  try {
    const answer = await callEngine({ engine, method: 'assemble', params: request, signal, warn, redact });
    return { ok: true, result: checkAssembleResult(answer, engine.info.id, warn) };
  } catch (caught) {
    const error = shownError(caught, params);
    warn(`context engine assemble failed, the prompt goes out as it is: ${error.message}`, { answered: true });
    return { ok: false, error, messages };
  }
}
