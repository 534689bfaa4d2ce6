import type { NativeContext, TurnUsage } from '../ports.ts';
import { numberOf, objectOf, type WireObject } from './wire-values.ts';

/** Tokens of one model request in Codex's counting: `inputTokens` holds `cachedInputTokens`. */
export interface RequestUsage extends TurnUsage {
  /** Input tokens written to the prompt cache; a part of `inputTokens`. */
  cacheWriteInputTokens: number;
}

/** Tokens as engines and transcript rows count them: `input` without the cached ones (spec M3). */
export interface EngineUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** Codex's counting turned into the engines'. Cached tokens are counted once, as `cacheRead`. */
export function toEngineUsage(usage: RequestUsage): EngineUsage {
  return {
    input: Math.max(0, usage.inputTokens - usage.cachedInputTokens),
    output: usage.outputTokens,
    cacheRead: usage.cachedInputTokens,
    cacheWrite: usage.cacheWriteInputTokens,
    total: usage.totalTokens,
  };
}

export function addUsage(a: RequestUsage, b: RequestUsage): RequestUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningOutputTokens: a.reasoningOutputTokens + b.reasoningOutputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}

/**
 * Adds up the tokens of one turn from `thread/tokenUsage/updated`.
 *
 * A report's `last` is one model request, its `total` the whole thread. A dropped stream repeats the old figures, so a
 * report counts only when `total` moved. What was not reported is null, never zero.
 */
export class UsageMeter {
  #seenTotal: string | null = null;
  #sum: RequestUsage | null = null;
  #last: RequestUsage | null = null;
  #window: number | null = null;

  /** Figures of the thread before this turn, as a resume replays them: nothing to count, but the mark to compare with. */
  noteEarlier(tokenUsage: unknown): void {
    this.#seenTotal = totalKey(objectOf(tokenUsage));
  }

  /** Takes one report of this turn; returns what it added, or null when it is a repeat, an estimate or unreadable. */
  accept(tokenUsage: unknown): RequestUsage | null {
    const report = objectOf(tokenUsage);
    this.#window = count(report, 'modelContextWindow', 'model_context_window') ?? this.#window;
    const last = readUsage(report['last']);
    if (last === null) return null;
    const total = totalKey(report);
    if (total !== null && total === this.#seenTotal) return null;
    this.#seenTotal = total;
    // After a compaction Codex reports an estimate of the new context: a sum without its parts. No request was made.
    if (last.inputTokens === 0 && last.outputTokens === 0) return null;
    this.#sum = this.#sum === null ? last : addUsage(this.#sum, last);
    this.#last = last;
    return last;
  }

  /** The context has shrunk: the last request says nothing about it any more, until another one is reported. */
  compacted(): void {
    this.#last = null;
  }

  /** The turn's tokens in Codex's counting. */
  get turn(): TurnUsage | null {
    if (this.#sum === null) return null;
    const { cacheWriteInputTokens: _, ...usage } = this.#sum;
    return usage;
  }

  /** The turn's tokens in the engines' counting. */
  get engineTurn(): EngineUsage | null {
    return this.#sum === null ? null : toEngineUsage(this.#sum);
  }

  /** The last model request in Codex's counting; null while unknown. */
  get lastRequest(): RequestUsage | null {
    return this.#last;
  }

  /** The last model request in the engines' counting; null while unknown. */
  get lastCall(): EngineUsage | null {
    return this.#last === null ? null : toEngineUsage(this.#last);
  }

  /** Input tokens of the last model request, cached ones included; null while unknown. */
  get currentTokenCount(): number | null {
    return this.#last?.inputTokens ?? null;
  }

  /** How full the thread is and how large the model's window; null while one of the two is unknown. */
  get context(): NativeContext | null {
    if (this.#last === null || this.#window === null || this.#window === 0) return null;
    return { tokens: this.#last.inputTokens, window: this.#window };
  }

  /** Cache details for engines; null when the server reported none over the whole turn (spec M3). */
  get promptCache(): { lastCallUsage: EngineUsage } | null {
    if (this.#sum === null || this.lastCall === null) return null;
    if (this.#sum.cachedInputTokens === 0 && this.#sum.cacheWriteInputTokens === 0) return null;
    return { lastCallUsage: this.lastCall };
  }
}

function readUsage(value: unknown): RequestUsage | null {
  const from = objectOf(value);
  const inputTokens = count(from, 'inputTokens', 'input_tokens');
  const outputTokens = count(from, 'outputTokens', 'output_tokens');
  if (inputTokens === null && outputTokens === null) return null;
  return {
    inputTokens: inputTokens ?? 0,
    cachedInputTokens: Math.min(count(from, 'cachedInputTokens', 'cached_input_tokens') ?? 0, inputTokens ?? 0),
    cacheWriteInputTokens: count(from, 'cacheWriteInputTokens', 'cache_write_input_tokens') ?? 0,
    outputTokens: outputTokens ?? 0,
    reasoningOutputTokens: count(from, 'reasoningOutputTokens', 'reasoning_output_tokens') ?? 0,
    totalTokens: count(from, 'totalTokens', 'total_tokens') ?? (inputTokens ?? 0) + (outputTokens ?? 0),
  };
}

function count(from: WireObject, name: string, alias: string): number | null {
  const value = numberOf(from[name]) ?? numberOf(from[alias]);
  return value !== null && value >= 0 ? value : null;
}

/** Null when the report has no thread total: then nothing can be told to be a repeat. */
function totalKey(report: WireObject): string | null {
  const total = readUsage(report['total']);
  return total === null ? null : JSON.stringify(total);
}
