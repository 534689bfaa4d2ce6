import { capText } from '../codex/cap-text.ts';
import { idOf, objectOf } from '../codex/wire-values.ts';
import { AttemptError, messageOf } from '../errors.ts';
import type { Clock, HostTool, ToolResult } from '../ports.ts';
import { textOfContent } from './content-text.ts';
import { compileSchema, type SchemaCheck } from './schema.ts';
import { toolName } from './tool-specs.ts';

/** Milliseconds that a tool may take, and UTF-16 units of its text that the model may get. */
export const TOOL_CALL_DEFAULTS = { budgetMs: 90_000, maxTextChars: 100_000 } as const;

/** Answer to `item/tool/call`. */
export interface ToolCallResponse {
  contentItems: { type: 'inputText'; text: string }[];
  success: boolean;
}

export interface ToolCallReport {
  callId: string;
  tool: string;
  ok: boolean;
  /** False: the call was refused before the tool ran. */
  executed: boolean;
  durationMs: number;
}

export interface ToolCallOptions {
  tools: readonly HostTool[];
  threadId: string;
  /** The turn that runs; null while its id is not known yet. */
  turnId: () => string | null;
  /** Aborts when the attempt wants no more of its tools: calls under way are answered as failed. */
  signal: AbortSignal;
  clock: Clock;
  /** Takes secrets out of a text. */
  redact: (text: string) => string;
  /** A tool asked to end the turn. Called when the answer has gone out. */
  onYield?: (callId: string) => void;
  /** A call was answered. */
  onCall?: (report: ToolCallReport) => void;
  /** Default `TOOL_CALL_DEFAULTS.budgetMs`. */
  budgetMs?: number;
}

/**
 * Answers `item/tool/call`. Codex waits without end for an answer, so every call gets one: a throw, a hang, an abort and
 * bad arguments are failed results whose text the model can read. What a tool brings later is dropped.
 * The returned function rejects with `tools_failed` when the call belongs to another turn or lacks an id.
 */
export function createToolCallHandler(options: ToolCallOptions): (params: unknown) => Promise<ToolCallResponse> {
  const tools = new Map(options.tools.map((tool) => [toolName(tool), tool]));
  const checks = new Map<HostTool, SchemaCheck>();

  const checkOf = (tool: HostTool): SchemaCheck => {
    const check = checks.get(tool) ?? compileSchema(tool.parameters);
    checks.set(tool, check);
    return check;
  };

  return async (params) => {
    const call = readCall(params);
    if (call === null || call.threadId !== options.threadId || call.turnId !== (options.turnId() ?? call.turnId)) {
      throw new AttemptError('tools_failed', 'this tool call does not belong to the running turn');
    }
    const from = options.clock.now();
    const name = toolName({ name: call.tool, ...(call.namespace === null ? {} : { namespace: call.namespace }) });
    const tool = tools.get(name);
    const refusal = tool === undefined ? `there is no tool ${name}` : refusalOf(tool, call.args, checkOf, options);
    const answer =
      tool === undefined || refusal !== null
        ? { text: refusal ?? '', ok: false, wantsYield: false, executed: false }
        : { ...(await execute(tool, call, options)), executed: true };
    options.onCall?.({
      callId: call.callId,
      tool: name,
      ok: answer.ok,
      executed: answer.executed,
      durationMs: options.clock.now() - from,
    });
    if (answer.wantsYield) {
      // The answer is written in the microtasks that follow; an interrupt must not overtake it.
      setImmediate(() => options.onYield?.(call.callId));
    }
    const text = capText(answer.text, TOOL_CALL_DEFAULTS.maxTextChars);
    return { contentItems: [{ type: 'inputText', text }], success: answer.ok };
  };
}

interface ToolCall {
  threadId: string;
  turnId: string;
  callId: string;
  namespace: string | null;
  tool: string;
  args: unknown;
}

interface Answer {
  text: string;
  ok: boolean;
  wantsYield: boolean;
}

function readCall(params: unknown): ToolCall | null {
  const from = objectOf(params);
  const threadId = idOf(from['threadId']);
  const turnId = idOf(from['turnId']);
  const callId = idOf(from['callId']);
  const tool = idOf(from['tool']);
  if (threadId === null || turnId === null || callId === null || tool === null) return null;
  return { threadId, turnId, callId, tool, namespace: idOf(from['namespace']), args: from['arguments'] ?? {} };
}

/** Why the tool is not run; null: it is. */
function refusalOf(
  tool: HostTool,
  args: unknown,
  checkOf: (tool: HostTool) => SchemaCheck,
  { signal, redact }: ToolCallOptions,
): string | null {
  if (signal.aborted) return 'the turn is being stopped';
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return 'invalid arguments: not an object';
  const problem = checkOf(tool)(args);
  return problem === null ? null : redact(`invalid arguments: ${problem}`);
}

async function execute(tool: HostTool, call: ToolCall, options: ToolCallOptions): Promise<Answer> {
  const { clock, redact } = options;
  const budgetMs = options.budgetMs ?? TOOL_CALL_DEFAULTS.budgetMs;
  const late = new AbortController();
  const signal = AbortSignal.any([options.signal, late.signal]);
  const timer = clock.setTimeout(
    () => late.abort(new AttemptError('tools_failed', `the tool did not answer within ${budgetMs} ms`)),
    budgetMs,
  );
  try {
    const context = { callId: call.callId, threadId: call.threadId, turnId: call.turnId, signal };
    // A function, so that a throw before the first await is caught like any other.
    const run = async () => tool.execute({ ...objectOf(call.args) }, context);
    return answerOf(await Promise.race([run(), rejectOnAbort(signal, options.signal)]));
  } catch (error) {
    return { text: redact(`the tool failed: ${messageOf(error)}`), ok: false, wantsYield: false };
  } finally {
    clock.clearTimeout(timer);
    // Tells a tool that hangs that nobody waits any more; nothing to a tool that has answered.
    late.abort();
  }
}

function rejectOnAbort(signal: AbortSignal, stopped: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () =>
      reject(stopped.aborted ? new AttemptError('aborted', 'the turn is being stopped') : signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** Total: a tool of another program may return anything. */
function answerOf(result: ToolResult): Answer {
  if (typeof result === 'string') return { text: result, ok: true, wantsYield: false };
  const from = objectOf(result);
  const text = typeof from['text'] === 'string' ? from['text'] : textOfContent(from['content']);
  if (text === null) {
    return {
      text: 'the tool failed: it returned neither a text, { text } nor { content }',
      ok: false,
      wantsYield: false,
    };
  }
  return { text, ok: from['isError'] !== true, wantsYield: from['yield'] === true };
}
