import type { Clock } from '../ports.ts';
import type { CompletionFunction } from './contract.ts';

/** Milliseconds without a completion under way that count as quiet. */
const QUIET_MS = 50;

export interface InFlight {
  /** The same completion function, counted; undefined when there is none. */
  complete: CompletionFunction | undefined;
  /** True once nothing was under way for `quietMs`; false when `timeoutMs` passed first. */
  quiesce(options: { timeoutMs: number; clock: Clock; quietMs?: number }): Promise<boolean>;
}

/** Counts the completions that an engine has under way, because its background work cannot be awaited. */
export function trackCompletions(completion: CompletionFunction | undefined): InFlight {
  if (completion === undefined) return { complete: undefined, quiesce: async () => true };
  let underWay = 0;
  const watchers = new Set<() => void>();
  const changed = (by: number): void => {
    underWay += by;
    for (const watcher of watchers) watcher();
  };
  return {
    complete: async (request) => {
      changed(1);
      try {
        return await completion(request);
      } finally {
        changed(-1);
      }
    },
    quiesce: ({ timeoutMs, clock, quietMs = QUIET_MS }) =>
      new Promise((resolve) => {
        let quiet: unknown;
        const end = (result: boolean): void => {
          clock.clearTimeout(quiet);
          clock.clearTimeout(late);
          watchers.delete(look);
          resolve(result);
        };
        const look = (): void => {
          clock.clearTimeout(quiet);
          if (underWay === 0) quiet = clock.setTimeout(() => end(true), quietMs);
        };
        const late = clock.setTimeout(() => end(false), timeoutMs);
        watchers.add(look);
        look();
      }),
  };
}
