/**
 * The messages of a session as pi's JSONL v3 holds them (and OpenClaw's hosts after it). Unknown roles and unknown
 * fields are kept as they are.
 */

export interface TextPart {
  type: 'text';
  text: string;
}

/** `data` is base64. */
export interface ImagePart {
  type: 'image';
  data: string;
  mimeType: string;
}

export interface ThinkingPart {
  type: 'thinking';
  thinking: string;
}

export interface ToolCallPart {
  type: 'toolCall';
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Tokens of one assistant row, input without the cached ones (spec M3). */
export interface MessageUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export interface UserMessage {
  role: 'user';
  content: string | (TextPart | ImagePart)[];
  /** Milliseconds since the epoch. */
  timestamp: number;
  idempotencyKey?: string;
}

export type StopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

export interface AssistantMessage {
  role: 'assistant';
  content: (TextPart | ThinkingPart | ToolCallPart)[];
  api: string;
  provider: string;
  model: string;
  usage: MessageUsage;
  stopReason: StopReason;
  errorMessage?: string;
  timestamp: number;
  idempotencyKey?: string;
}

export interface ToolResultMessage {
  role: 'toolResult';
  toolCallId: string;
  toolName: string;
  content: (TextPart | ImagePart)[];
  isError: boolean;
  timestamp: number;
  idempotencyKey?: string;
}

/** A row of a kind that this program does not write: custom messages, branch and compaction summaries, others. */
export interface OtherMessage {
  role: 'custom' | 'branchSummary' | 'compactionSummary' | 'bashExecution';
  content?: unknown;
  timestamp?: number;
  idempotencyKey?: string;
  [field: string]: unknown;
}

export type AgentMessage = UserMessage | AssistantMessage | ToolResultMessage | OtherMessage;
