import { AttemptError } from '../errors.ts';
import type { CodexClient } from '../ports.ts';
import { isRpcError } from './errors.ts';
import type { SandboxMode } from './threads.ts';
import { classifyRpcError } from './turn-errors.ts';

/** What one `turn/start` is told. Settings are sent every time: a cold resume forgets some of them. */
export interface TurnSettings {
  threadId: string;
  cwd: string;
  model: string | null;
  sandbox: SandboxMode;
  /** The final prompt text (spec 2.8). */
  text: string;
}

const SANDBOX_POLICIES = {
  'read-only': () => ({ type: 'readOnly', networkAccess: false }),
  'workspace-write': () => ({
    type: 'workspaceWrite',
    writableRoots: [],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  }),
  'danger-full-access': () => ({ type: 'dangerFullAccess' }),
} satisfies Record<SandboxMode, () => Record<string, unknown>>;

/** Params of `turn/start`. */
export function buildTurnStartParams(settings: TurnSettings): Record<string, unknown> {
  return {
    threadId: settings.threadId,
    input: [{ type: 'text', text: settings.text, text_elements: [] }],
    cwd: settings.cwd,
    environments: [{ environmentId: 'local', cwd: settings.cwd }],
    approvalPolicy: 'never',
    sandboxPolicy: SANDBOX_POLICIES[settings.sandbox](),
    ...(settings.model === null ? {} : { model: settings.model }),
  };
}

/**
 * `turn/start`; gives the turn id. The turn may have started, and even ended, before this resolves.
 * @throws AttemptError with the code of the refusal (`context_window_exceeded`, `turn_refused`, …).
 */
export async function startTurn(
  client: CodexClient,
  settings: TurnSettings,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<string> {
  let result: unknown;
  try {
    result = await client.request('turn/start', buildTurnStartParams(settings), options);
  } catch (error) {
    throw isRpcError(error) ? classifyRpcError(error, 'turn_refused') : error;
  }
  const id = (result as { turn?: { id?: unknown } } | null)?.turn?.id;
  if (typeof id !== 'string' || id === '') {
    throw new AttemptError('turn_refused', 'codex app-server answered turn/start without a turn id');
  }
  return id;
}

/**
 * `turn/interrupt`. Before `turn/started` was seen the id is left empty: a persisted thread refuses the right id then,
 * and the turn would run to its end. An answer is no end of the turn; only `turn/completed` is.
 */
export async function interruptTurn(
  client: CodexClient,
  turn: { threadId: string; turnId: string | null; started: boolean },
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const turnId = turn.started && turn.turnId !== null ? turn.turnId : '';
  await client.request('turn/interrupt', { threadId: turn.threadId, turnId }, options);
}
