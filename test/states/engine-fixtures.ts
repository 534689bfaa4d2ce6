import type { ContextEngine, EngineInfo, EngineRuntimeContext, SessionTarget } from '../../src/engine/contract.ts';
import { CURRENT_TURN_FENCE, TURN_ADVANCEMENT } from '../../src/engine/contract.ts';
import type { Clock, LogFields, Logger, OutboxRecord, OutboxStore } from '../../src/ports.ts';
import type { AgentMessage, AssistantMessage, ToolResultMessage } from '../../src/transcript/messages.ts';

export const DURABLE = { currentTurnFence: CURRENT_TURN_FENCE, turnAdvancementIdempotency: TURN_ADVANCEMENT };

export const TARGET: SessionTarget = {
  agentId: 'main',
  sessionId: 'session-1',
  sessionKey: 'agent:main:main',
  storePath: 'store',
};

export const RUNTIME_CONTEXT: EngineRuntimeContext = {
  agentId: 'main',
  provider: 'openai',
  model: 'gpt-test',
  modelId: 'gpt-test',
  config: {},
  tokenBudget: 1000,
  sessionTarget: TARGET,
  transcriptStorage: { kind: 'jsonl' },
  workspaceDir: 'work',
  agentDir: 'agent',
};

export interface RecordedCall {
  method: string;
  params: Readonly<Record<string, unknown>>;
}

type Methods = Partial<Record<string, (params: Readonly<Record<string, unknown>>) => unknown>>;

/** An engine that writes down each call. `methods` adds optional methods and replaces required ones. */
export function recordingEngine(
  methods: Methods = {},
  info: Partial<EngineInfo> = {},
): { engine: ContextEngine; calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  const recorded = { ingest: () => ({ ingested: true }), assemble: keep, compact: noCompaction, ...methods };
  const members = Object.entries(recorded).map(([method, answer]) => [
    method,
    (params: Readonly<Record<string, unknown>>) => {
      calls.push({ method, params });
      return answer?.(params);
    },
  ]);
  const engine = { info: { id: 'recorder', name: 'Recorder', ...info }, ...Object.fromEntries(members) };
  return { engine: engine as ContextEngine, calls };
}

const keep = ({ messages }: Readonly<Record<string, unknown>>): unknown => ({ messages });
const noCompaction = (): unknown => ({ ok: true, compacted: false });

export function user(text: string): AgentMessage {
  return { role: 'user', content: text, timestamp: 1 };
}

export function assistant(text: string, calls: readonly string[] = []): AssistantMessage {
  return {
    role: 'assistant',
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map((id) => ({ type: 'toolCall' as const, id, name: 'exec', arguments: { cmd: 'ls' } })),
    ],
    api: 'openai-responses',
    provider: 'openai',
    model: 'gpt-test',
    usage: {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: 2,
  };
}

export function toolResult(id: string, text: string): ToolResultMessage {
  return {
    role: 'toolResult',
    toolCallId: id,
    toolName: 'exec',
    content: [{ type: 'text', text }],
    isError: false,
    timestamp: 3,
  };
}

export function hidden(text: string): AgentMessage {
  return { role: 'custom', customType: 'openclaw.runtime-context', content: text, display: false, timestamp: 1 };
}

export interface LogLine {
  level: string;
  message: string;
}

export function recordingLogger(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: string) => (message: string, _fields?: LogFields) => {
    lines.push({ level, message });
  };
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}

/** A clock that moves only when told to. */
export function manualClock(): Clock & { advance(ms: number): void } {
  let now = 0;
  let next = 1;
  const timers = new Map<number, { at: number; fn: () => void }>();
  return {
    now: () => now,
    setTimeout(fn, ms) {
      const id = next++;
      timers.set(id, { at: now + ms, fn });
      return id;
    },
    clearTimeout(id) {
      if (typeof id === 'number') timers.delete(id);
    },
    advance(ms) {
      now += ms;
      for (const [id, timer] of [...timers]) {
        if (timer.at > now) continue;
        timers.delete(id);
        timer.fn();
      }
    },
  };
}

/** An outbox in memory. `fail` makes the next call of that name reject. */
export function memoryOutbox(records: OutboxRecord[] = []): OutboxStore & {
  records: OutboxRecord[];
  fail: Set<'add' | 'remove'>;
} {
  const fail = new Set<'add' | 'remove'>();
  const check = (name: 'add' | 'remove'): void => {
    if (fail.delete(name)) throw new Error(`disk full in ${name}`);
  };
  return {
    records,
    fail,
    list: async () => [...records],
    async add(record) {
      check('add');
      if (!records.some((known) => known.advancementKey === record.advancementKey)) records.push(record);
    },
    async remove(key) {
      check('remove');
      const index = records.findIndex((record) => record.advancementKey === key);
      if (index !== -1) records.splice(index, 1);
    },
  };
}

/** A promise that is settled from outside. */
export function deferred<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
