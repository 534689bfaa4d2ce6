import { AttemptError } from '../../errors.ts';
import type {
  AppendedRow,
  BoundThread,
  OutboxRecord,
  SessionStore,
  ThreadBinding,
  TranscriptEntry,
  TranscriptRow,
  TurnIntent,
} from '../../ports.ts';
import { toolFingerprint } from '../../tools/fingerprint.ts';
import type { AgentMessage } from '../../transcript/messages.ts';
import { CONTROLLED_EPOCH } from './clock.ts';
import type { ControlledScript } from './script.ts';

export interface SessionSetup {
  /** Rows of the session before the attempt. An empty list is a session file without rows; absent: no file. */
  history?: readonly AgentMessage[] | undefined;
  binding?: ThreadBinding | null | undefined;
  intent?: TurnIntent | null | undefined;
  outbox?: readonly OutboxRecord[] | undefined;
  notices?: readonly string[] | undefined;
}

/** A session in memory. What it holds may be read and changed by the test between two attempts. */
export interface ControlledSession {
  store: SessionStore;
  state: {
    entries: TranscriptEntry[];
    exists: boolean;
    binding: ThreadBinding | null;
    intent: TurnIntent | null;
    outbox: OutboxRecord[];
    /** Taken by an attempt and not given back. */
    open: boolean;
  };
  messages(): AgentMessage[];
}

/** Where controlled sessions are said to lie: no such file is ever made. */
export const SESSION_FILE = '/controlled/session.jsonl';
export const SESSION_ID = 'session-1';

export function controlledSession(
  script: ControlledScript,
  setup: SessionSetup = {},
  sessionFile = SESSION_FILE,
): ControlledSession {
  const entries: TranscriptEntry[] = [];
  const add = (message: AgentMessage): TranscriptEntry => {
    const position = entries.length;
    const entry: TranscriptEntry = {
      entryId: `entry-${position}`,
      parentId: entries.at(-1)?.entryId ?? null,
      position,
      createdAt: new Date(CONTROLLED_EPOCH).toISOString(),
      message,
    };
    entries.push(entry);
    state.exists = true;
    return entry;
  };
  const state: ControlledSession['state'] = {
    entries,
    exists: setup.history !== undefined,
    binding: setup.binding ?? null,
    intent: setup.intent ?? null,
    outbox: [...(setup.outbox ?? [])],
    open: false,
  };
  for (const message of setup.history ?? []) add(message);

  const append = (rows: readonly TranscriptRow[]): AppendedRow[] =>
    rows.map(({ idempotencyKey, message }) => {
      const known = entries.find((entry) => entry.message.idempotencyKey === idempotencyKey);
      return known === undefined
        ? { created: true, entry: add({ ...message, idempotencyKey }) }
        : { created: false, entry: known };
    });

  const view = () => ({ entries: [...entries], leafId: entries.at(-1)?.entryId ?? null });

  const memory: SessionStore = {
    transcript: {
      sessionFile,
      open: async () => {
        state.open = true;
        return { existed: state.exists, sessionId: SESSION_ID, notices: setup.notices ?? [] };
      },
      read: async () => view(),
      append: async (rows) => append(rows),
      close: async () => {
        state.open = false;
      },
    },
    bindings: {
      read: async () => state.binding,
      write: async (binding) => {
        state.binding = binding;
      },
      clear: async () => {
        state.binding = null;
      },
    },
    journal: {
      read: async () => state.intent,
      write: async (intent) => {
        state.intent = intent;
      },
      clear: async () => {
        state.intent = null;
      },
    },
    outbox: {
      list: async () => [...state.outbox],
      add: async (record) => {
        const known = state.outbox.some((other) => other.advancementKey === record.advancementKey);
        if (!known) state.outbox.push(record);
      },
      remove: async (key) => {
        state.outbox = state.outbox.filter((record) => record.advancementKey !== key);
      },
    },
  };
  return { store: scriptedStore(script, memory), state, messages: () => entries.map((entry) => entry.message) };
}

/** A session whose every call is steered by the script, and otherwise done by `inner`. */
export function scriptedStore(script: ControlledScript, inner: SessionStore): SessionStore {
  const { transcript, bindings, journal, outbox } = inner;
  // A session that is given back while `open` is under way is not taken any more (see `Transcript.close`).
  let closed = false;
  const open = async (signal: AbortSignal) => {
    closed = false;
    return script.run(
      'transcript.open',
      null,
      () => {
        if (closed) throw new AttemptError('aborted', 'the session was given back before it was open');
        return transcript.open(signal);
      },
      signal,
    );
  };
  return {
    transcript: {
      sessionFile: transcript.sessionFile,
      open,
      read: (signal) => script.run('transcript.read', null, () => transcript.read(signal), signal),
      append: (rows, signal) =>
        script.run(
          'transcript.append',
          { keys: rows.map((row) => row.idempotencyKey) },
          () => transcript.append(rows, signal),
          signal,
        ),
      close: () => {
        closed = true;
        return script.run('transcript.close', null, () => transcript.close());
      },
    },
    bindings: {
      read: () => script.run('binding.read', null, () => bindings.read()),
      write: (binding) => script.run('binding.write', binding, () => bindings.write(binding)),
      clear: () => script.run('binding.clear', null, () => bindings.clear()),
    },
    journal: {
      read: () => script.run('journal.read', null, () => journal.read()),
      write: (intent) => script.run('journal.write', intent, () => journal.write(intent)),
      clear: () => script.run('journal.clear', null, () => journal.clear()),
    },
    outbox: {
      list: () => script.run('outbox.list', null, () => outbox.list()),
      add: (record) => script.run('outbox.add', record, () => outbox.add(record)),
      remove: (key) => script.run('outbox.remove', key, () => outbox.remove(key)),
    },
  };
}

/** A binding with one thread, `thread-9`: of no tools, no engine and no epoch unless told otherwise. */
export function bindingOf(thread: Partial<BoundThread> = {}): ThreadBinding {
  return {
    version: 1,
    realm: 'live',
    threads: [
      {
        threadId: 'thread-9',
        toolFingerprint: toolFingerprint([]),
        engine: null,
        epoch: null,
        instructionsHash: null,
        seenEntryId: null,
        ...thread,
      },
    ],
  };
}
