import type { AgentMessage } from '../../transcript/messages.ts';
import type { CompactResult, SessionTarget } from '../contract.ts';

/** A visible row of a session as the SDK hands it to engines, root to leaf. */
export interface VisibleTranscriptEntry {
  entryId: string;
  parentId: string | null;
  /** Position in the visible branch, from 0. */
  seq: number;
  message: AgentMessage;
  role: string;
  /** ISO 8601. */
  createdAt: string;
  idempotencyKey?: string;
}

/** Reads the visible branch of one session. The host applies its fence here: what is behind it is not visible. */
export type TranscriptReader = () => Promise<readonly VisibleTranscriptEntry[]> | readonly VisibleTranscriptEntry[];

/** What engines import from `openclaw/plugin-sdk` and its parts, as far as a host without OpenClaw can serve it. */
export interface EngineSdk {
  /** By session id and by session key. */
  readers: Map<string, TranscriptReader>;
  /** By specifier: the module's named exports. */
  modules: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Where the bridge's modules find the SDK: engines and hosts may live in different copies of this package. */
export const SDK_KEY = 'codex-attempt-machine.engine-sdk';

/** Makes the SDK object. It holds nothing but the readers. */
export function createEngineSdk(): EngineSdk {
  const readers = new Map<string, TranscriptReader>();

  /** Rejects when this process has no such session open. */
  const readVisibleSessionTranscriptMessageEntries = async (
    target: Partial<SessionTarget>,
  ): Promise<readonly VisibleTranscriptEntry[]> => {
    const { sessionId, sessionKey } = target;
    const reader = readers.get(sessionId ?? '') ?? readers.get(sessionKey ?? '');
    if (reader === undefined) throw new Error(`no open session "${sessionId ?? sessionKey ?? ''}" to read`);
    return reader();
  };

  /** There is no memory plug-in here whose prompt section could be added. */
  const buildMemorySystemPromptAddition = (): undefined => undefined;

  const delegateCompactionToRuntime = async (): Promise<CompactResult> => ({
    ok: true,
    compacted: false,
    reason: 'this host compacts the native thread by itself',
  });

  const definePluginEntry = <T>(entry: T): T => entry;
  const asItIs = <T>(value: T): T => value;

  const core = { buildMemorySystemPromptAddition, delegateCompactionToRuntime, definePluginEntry };
  return {
    readers,
    modules: {
      'openclaw/plugin-sdk': core,
      'openclaw/plugin-sdk/core': core,
      'openclaw/plugin-sdk/plugin-entry': { definePluginEntry },
      'openclaw/plugin-sdk/session-transcript-runtime': { readVisibleSessionTranscriptMessageEntries },
      // Everything that leaves an engine passes this host's own redactor.
      'openclaw/plugin-sdk/logging-core': { redactSensitiveText: asItIs, redactToolPayloadText: asItIs },
    },
  };
}
