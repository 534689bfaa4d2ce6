import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type {
  AppendedRow,
  Clock,
  OutboxRecord,
  SessionStore,
  ThreadBinding,
  TranscriptEntry,
  TranscriptRow,
  TurnIntent,
} from '../ports.ts';

export interface MemoryStoreOptions {
  /** What is in memory is written here too, for engines that read the file: pi's JSONL v3. */
  sessionFile: string;
  cwd: string;
  clock: Clock;
  newId: () => string;
}

/** A session store that answers at once. It has the rows in memory; the file is a copy. One owner at a time. */
export function memoryStore({ sessionFile, cwd, clock, newId }: MemoryStoreOptions): SessionStore {
  const sessionId = newId();
  const entries: TranscriptEntry[] = [];
  let binding: ThreadBinding | null = null;
  let intent: TurnIntent | null = null;
  let outbox: OutboxRecord[] = [];

  function add(row: TranscriptRow): TranscriptEntry {
    const entry: TranscriptEntry = {
      entryId: newId(),
      parentId: entries.at(-1)?.entryId ?? null,
      position: entries.length,
      createdAt: new Date(clock.now()).toISOString(),
      message: { ...row.message, idempotencyKey: row.idempotencyKey },
    };
    if (entries.length === 0) {
      mkdirSync(dirname(sessionFile), { recursive: true });
      const header = { type: 'session', version: 3, id: sessionId, timestamp: entry.createdAt, cwd };
      writeFileSync(sessionFile, `${JSON.stringify(header)}\n`);
    }
    const { entryId: id, parentId, createdAt: timestamp, message } = entry;
    appendFileSync(sessionFile, `${JSON.stringify({ type: 'message', id, parentId, timestamp, message })}\n`);
    entries.push(entry);
    return entry;
  }

  const append = (rows: readonly TranscriptRow[]): AppendedRow[] =>
    rows.map((row) => {
      const known = entries.find((entry) => entry.message.idempotencyKey === row.idempotencyKey);
      return known === undefined ? { created: true, entry: add(row) } : { created: false, entry: known };
    });

  return {
    transcript: {
      sessionFile,
      open: async () => ({ existed: entries.length > 0, sessionId, notices: [] }),
      read: async () => ({ entries: [...entries], leafId: entries.at(-1)?.entryId ?? null }),
      append: async (rows) => append(rows),
      close: async () => undefined,
    },
    bindings: {
      read: async () => binding,
      write: async (next) => {
        binding = next;
      },
      clear: async () => {
        binding = null;
      },
    },
    journal: {
      read: async () => intent,
      write: async (next) => {
        intent = next;
      },
      clear: async () => {
        intent = null;
      },
    },
    outbox: {
      list: async () => [...outbox],
      add: async (record) => {
        const isKnown = outbox.some((other) => other.advancementKey === record.advancementKey);
        if (!isKnown) outbox.push(record);
      },
      remove: async (key) => {
        outbox = outbox.filter((record) => record.advancementKey !== key);
      },
    },
  };
}
