import { isRpcError } from '../codex/errors.ts';
import { DEFAULT_API } from '../codex/events.ts';
import { listOf, objectOf, stringOf, type WireObject } from '../codex/wire-values.ts';
import { enqueueAndCommit } from '../engine/outbox.ts';
import { AttemptError } from '../errors.ts';
import type { CodexClient, TranscriptRow, TranscriptView, TurnIntent } from '../ports.ts';
import { itemKey } from '../transcript/mirror.ts';
import { acceptedTurnOf } from './accepted-turn.ts';
import { connectAppServer } from './app-server.ts';
import { engineSession } from './engine-call.ts';
import { type AttemptRecord, bounded, sessionKeyOf } from './record.ts';
import { tellRows } from './row-events.ts';
import { passWriteHooks } from './write-hooks.ts';

/**
 * `bootstrap.recovering` (design 2): an earlier process died between `turn/start` and the end of its turn. What the
 * native thread knows of that turn is mirrored as an aborted turn and the intent is closed. No turn is run again.
 *
 * A turn whose rows are in the session already has its intent closed, and the commit that a durable engine is owed
 * queued; `draining` hands it over. So is the intent closed of a turn that the thread does not
 * know and of which `turn/started` was not seen: it never ran. If the thread cannot be asked, the prompt row is kept
 * all the same and the failure is thrown, so that it is told. Of an intent of the other realm only the prompt row is
 * kept: its thread is not ours to ask.
 */
export async function recover(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const { session } = record.services;
  const { intent } = record.slots;
  if (intent === null || intent === undefined) return;
  const view = await session.transcript.read(signal);
  // An answer that comes too late leads to nothing: the session may be another's by then.
  signal.throwIfAborted();
  const isMirrored = (turnId: string) => {
    const own = `codex-app-server:${intent.threadId}:${turnId}:`;
    return view.entries.some((entry) => entry.message.idempotencyKey?.startsWith(own) === true);
  };
  if (intent.turnId !== null && isMirrored(intent.turnId)) {
    await queueOwedCommit(record, intent, view, signal);
    return session.journal.clear();
  }

  let rows: TranscriptRow[] = [intent.promptRow];
  let failure: unknown = null;
  if (intent.realm === record.params.realm) {
    try {
      const turn = await askThread(record, intent, signal);
      const turnId = intent.turnId ?? turn?.id ?? null;
      if (turnId === null || isMirrored(turnId)) return await session.journal.clear();
      rows = [intent.promptRow, abortedRow(record, intent.threadId, turnId, turn?.text ?? '')];
    } catch (error) {
      if (signal.aborted) throw error;
      failure = error;
      if (intent.turnId !== null) rows = [intent.promptRow, abortedRow(record, intent.threadId, intent.turnId, '')];
    }
  }
  await writeMissing(record, view, rows, signal);
  signal.throwIfAborted();
  await session.journal.clear();
  if (failure !== null) throw failure;
}

/** Every accepted turn reaches its durable engine (spec D3). Another engine than the one it was meant for does not. */
async function queueOwedCommit(
  record: AttemptRecord,
  intent: TurnIntent,
  view: TranscriptView,
  signal: AbortSignal,
): Promise<void> {
  const { engine } = record.services;
  const { accepted } = intent;
  if (accepted === undefined || engine === null || engine.info.id !== accepted.engineId) return;
  const own = `codex-app-server:${intent.threadId}:${intent.turnId}:`;
  const turn = acceptedTurnOf(record, intent.attemptId, view, ({ message }) => {
    const key = message.idempotencyKey;
    return key !== undefined && (key === intent.promptRow.idempotencyKey || key.startsWith(own));
  });
  if (turn === null) throw new AttemptError('recovery_failed', 'a crashed turn cannot be committed: its rows are gone');
  const { sessionId, warn, redact: hide } = engineSession(record, signal);
  const queued = await enqueueAndCommit({
    store: record.services.session.outbox,
    engine,
    turn,
    sessionId,
    sessionKey: sessionKeyOf(record),
    isHeartbeat: accepted.isHeartbeat,
    suspended: true,
    live: {},
    signal,
    warn,
    redact: hide,
  });
  if (!queued.ok && !queued.queued) throw queued.error;
}

/** Rows that the session does not have are written as hooks let them. */
async function writeMissing(
  record: AttemptRecord,
  view: TranscriptView,
  rows: readonly TranscriptRow[],
  signal: AbortSignal,
): Promise<void> {
  const there = new Set(view.entries.map((entry) => entry.message.idempotencyKey));
  const missing = rows.filter((row) => !there.has(row.idempotencyKey));
  const { hooks, store } = record.params.budgets;
  // The thread may have taken half of the state's budget; the write must have some of it too.
  const ms = Math.min(hooks, store / 4);
  const passed = await passWriteHooks(record, 'bootstrap.recovering', missing, signal, ms);
  const allowed = passed.filter((row) => row !== null);
  if (allowed.length > 0) tellRows(record, allowed, await record.services.session.transcript.append(allowed, signal));
}

/** Half of the state's budget: a thread that does not answer must leave time to keep the prompt row. */
function askThread(record: AttemptRecord, intent: TurnIntent, signal: AbortSignal) {
  const ms = record.params.budgets.store / 2;
  const ask = async () => readTurn(await connectAppServer(record, signal), intent, signal);
  return bounded(ask(), {
    clock: record.services.clock,
    ms,
    signal,
    error: () => new AttemptError('recovery_failed', `the native thread did not say within ${ms} ms what became of it`),
  });
}

/**
 * `thread/read`: the turn of the intent and the last message of the agent in it, as far as the thread has it. While
 * the turn's id is not known it is the thread's last turn, if that was asked what the intent asks. Null: there is none.
 */
async function readTurn(
  client: CodexClient,
  intent: TurnIntent,
  signal: AbortSignal,
): Promise<{ id: string; text: string } | null> {
  let answer: unknown;
  try {
    answer = await client.request('thread/read', { threadId: intent.threadId, includeTurns: true }, { signal });
  } catch (error) {
    // A thread of which no turn has begun is not on disk: thread/read says that it is not loaded.
    const isUnknown = isRpcError(error) && error.message.startsWith('thread not loaded');
    if (intent.turnId === null && isUnknown) return null;
    throw error;
  }
  const turns = listOf(objectOf(objectOf(answer)['thread'])['turns']).map(objectOf);
  const itemsOf = (turn: WireObject | undefined) => listOf(turn?.['items']).map(objectOf);
  const last = turns.at(-1);
  const prompt = textOf(intent.promptRow.message.content);
  const asked = itemsOf(last).some(
    (item) => item['type'] === 'userMessage' && textOf(item['content']).includes(prompt),
  );
  const turn = intent.turnId === null ? (asked ? last : undefined) : turns.find((one) => one['id'] === intent.turnId);
  const id = stringOf(turn?.['id']);
  if (id === null) return null;
  const texts = itemsOf(turn)
    .filter((item) => item['type'] === 'agentMessage')
    .map((item) => stringOf(item['text']) ?? '');
  return { id, text: texts.findLast((text) => text !== '') ?? '' };
}

/** The text parts of a message, of ours or of the app-server's. */
function textOf(content: unknown): string {
  return listOf(content)
    .map((part) => stringOf(objectOf(part)['text']) ?? '')
    .join('');
}

function abortedRow(record: AttemptRecord, threadId: string, turnId: string, text: string): TranscriptRow {
  const idempotencyKey = itemKey(threadId, turnId, 'recovered', 'assistant');
  return {
    idempotencyKey,
    message: {
      role: 'assistant',
      content: text === '' ? [] : [{ type: 'text', text }],
      api: DEFAULT_API,
      provider: record.params.provider,
      model: record.params.model ?? '',
      usage: {
        input: 0,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      stopReason: 'aborted',
      errorMessage: 'the process ended during the turn',
      timestamp: record.startedAt,
      idempotencyKey,
    },
  };
}
