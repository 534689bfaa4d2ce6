import { listOf, objectOf, stringOf } from '../codex/wire-values.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import type { CodexClient, TranscriptRow, TurnIntent } from '../ports.ts';
import { itemKey } from '../transcript/mirror.ts';
import type { AttemptRecord } from './record.ts';

/**
 * `bootstrap.recovering` (design 2): an earlier process died between `turn/start` and the end of its turn. What the
 * native thread knows of that turn is mirrored as an aborted turn and the intent is closed. No turn is run again.
 *
 * A turn whose rows are in the session already only has its intent closed. If the thread cannot be asked, the prompt
 * row is kept all the same and the failure is thrown, so that it is told.
 */
export async function recover(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  const { session } = record.services;
  const { intent } = record.slots;
  if (intent === null || intent === undefined) return;
  // Without `turn/started` the turn has left no trace that belongs to this session.
  if (intent.turnId === null || intent.realm !== record.params.realm) return session.journal.clear();

  const own = `codex-app-server:${intent.threadId}:${intent.turnId}:`;
  const view = await session.transcript.read(signal);
  const mirrored = view.entries.some((entry) => entry.message.idempotencyKey?.startsWith(own) === true);
  if (mirrored) return session.journal.clear();

  let text = '';
  let failure: unknown = null;
  try {
    text = await textOfTurn(await record.services.appServer.connect(signal), intent, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    failure = error;
  }
  await session.transcript.append([intent.promptRow, abortedRow(record, intent, text)], signal);
  await session.journal.clear();
  if (failure !== null) throw isAttemptError(failure) ? failure : new Error(messageOf(failure));
}

/** `thread/read`: the last message of the agent in that turn, as far as the thread has it. */
async function textOfTurn(client: CodexClient, intent: TurnIntent, signal: AbortSignal): Promise<string> {
  const answer = objectOf(
    await client.request('thread/read', { threadId: intent.threadId, includeTurns: true }, { signal }),
  );
  const turns = listOf(objectOf(answer['thread'])['turns']).map(objectOf);
  const turn = turns.find((candidate) => candidate['id'] === intent.turnId);
  const texts = listOf(turn?.['items'])
    .map(objectOf)
    .filter((item) => item['type'] === 'agentMessage')
    .map((item) => stringOf(item['text']) ?? '');
  return texts.findLast((candidate) => candidate !== '') ?? '';
}

function abortedRow(record: AttemptRecord, intent: TurnIntent, text: string): TranscriptRow {
  const idempotencyKey = itemKey(intent.threadId, intent.turnId ?? '', 'recovered', 'assistant');
  return {
    idempotencyKey,
    message: {
      role: 'assistant',
      content: text === '' ? [] : [{ type: 'text', text }],
      api: 'openai-responses',
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
