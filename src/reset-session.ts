import path from 'node:path';
import { defaultBudgets } from '../machines/index.ts';
import { sessionKeyOf } from './engine/host-params.ts';
import type { Clock, HookOutcome, Hooks, Logger } from './ports.ts';
import { systemClock } from './system-clock.ts';
import { type EndedSession, resetSessionFiles } from './transcript/reset.ts';
import { openSessionStore } from './transcript/store.ts';

export interface ResetSessionOptions {
  /** Path of the session file. */
  sessionFile: string;
  /** Working folder, for the hooks' context. */
  cwd: string;
  /** Told `before_reset` and `session_end`: this is how an engine cleans up its state. Default: nobody. */
  hooks?: Hooks;
  /** Default: the session id. */
  sessionKey?: string;
  /** Milliseconds for each of the two hooks. Default: the hooks budget of an attempt. */
  hooksBudget?: number;
  /** Default: the system's. */
  clock?: Clock;
  /** Default: silent. */
  logger?: Logger;
}

/** `failures`: hooks that threw or did not answer in time; the session is reset all the same. */
export interface SessionReset extends EndedSession {
  archivedTo: string;
  failures: HookOutcome<undefined>['failures'];
}

/**
 * Ends the conversation of a session (spec T2): binding, journal and outbox go, the file is kept under another name, and
 * hooks are told, so that an engine does not serve the old conversation to the next one. Rejects with AttemptError
 * `session_not_found`, `session_busy`, `session_not_a_file`, `session_unreadable`, `session_invalid`,
 * `session_write_failed`.
 */
export async function resetSession(options: ResetSessionOptions): Promise<SessionReset> {
  const { cwd, hooks, clock = systemClock, logger } = options;
  const sessionFile = path.resolve(options.sessionFile);
  const { transcript } = openSessionStore({
    sessionFile,
    realm: '',
    cwd,
    clock,
    ...(logger === undefined ? {} : { logger }),
  });
  const { entries } = await transcript.read(new AbortController().signal);
  const failures: { name: string; message: string }[] = [];
  const tell = async (name: 'before_reset' | 'session_end', sessionId: string, event: object): Promise<void> => {
    if (hooks?.has(name) !== true) return;
    const sessionKey = sessionKeyOf({ sessionId, sessionKey: options.sessionKey });
    const context = { attemptId: '', sessionId, sessionKey, cwd, modelId: '', provider: '' };
    const budget = new AbortController();
    const timer = clock.setTimeout(() => budget.abort(), options.hooksBudget ?? defaultBudgets.hooks);
    const sessionTarget = { agentId: 'main', sessionId, sessionKey, storePath: sessionFile };
    const told = { ...event, sessionId, sessionKey, sessionFile, sessionTarget, reason: 'reset' };
    try {
      const outcome = await hooks.notify(name, told, context, budget.signal);
      failures.push(...outcome.failures);
    } finally {
      clock.clearTimeout(timer);
    }
  };
  const ended = await resetSessionFiles({
    sessionFile,
    clock,
    ...(logger === undefined ? {} : { logger }),
  });
  // Told when it is certain: an engine must not forget a session that turned out to be busy.
  await tell('before_reset', ended.sessionId, { messages: entries.map((entry) => entry.message) });
  await tell('session_end', ended.sessionId, { messageCount: entries.length, archivedTo: ended.archivedTo });
  return { ...ended, failures };
}
