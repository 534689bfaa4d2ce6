import type { ControlledClient } from './codex.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The final answer of a plain turn. */
export const ANSWER = 'final answer';

export interface TokenFigures {
  input: number;
  cached?: number;
  output: number;
  cacheWrite?: number;
  /** Tokens of the model's window; absent: not reported. */
  window?: number;
}

/** One native turn of the controlled app-server: sends the notifications that the real one sends, in its shapes. */
export class ControlledTurn {
  readonly threadId: string;
  readonly turnId: string;
  readonly client: ControlledClient;
  /** `turn/completed` was sent. */
  over = false;
  #items = 0;
  #total = { input: 0, cached: 0, output: 0, cacheWrite: 0 };

  constructor(client: ControlledClient, threadId: string, turnId: string) {
    this.client = client;
    this.threadId = threadId;
    this.turnId = turnId;
  }

  notify(method: string, params: Fields = {}): void {
    this.client.notify(method, { threadId: this.threadId, turnId: this.turnId, ...params });
  }

  started(): this {
    this.client.notify('turn/started', {
      threadId: this.threadId,
      turn: { id: this.turnId, status: 'inProgress', items: [], itemsView: 'notLoaded' },
    });
    return this;
  }

  item(item: Fields): string {
    const id = this.begin(item);
    this.finish({ ...item, id });
    return id;
  }

  begin(item: Fields): string {
    this.#items += 1;
    const id = typeof item['id'] === 'string' ? item['id'] : `item-${this.#items}`;
    this.notify('item/started', { item: { ...item, id } });
    return id;
  }

  finish(item: Fields): void {
    this.notify('item/completed', { item });
  }

  user(text = 'prompt'): this {
    this.item({ type: 'userMessage', content: [{ type: 'text', text }] });
    return this;
  }

  message(text: string, phase: 'final_answer' | 'commentary' = 'final_answer'): this {
    const id = this.begin({ type: 'agentMessage', text: '', phase });
    this.delta(id, text);
    this.finish({ type: 'agentMessage', id, text, phase });
    return this;
  }

  /** A message that is never completed. */
  openMessage(text: string): this {
    this.delta(this.begin({ type: 'agentMessage', text: '', phase: 'final_answer' }), text);
    return this;
  }

  delta(itemId: string, delta: string): void {
    this.notify('item/agentMessage/delta', { itemId, delta });
  }

  command(command: string, output: string, exitCode = 0): this {
    const item = { type: 'commandExecution', command, cwd: '/controlled/work', status: 'inProgress' };
    const id = this.begin(item);
    this.finish({
      ...item,
      id,
      status: exitCode === 0 ? 'completed' : 'failed',
      aggregatedOutput: output,
      exitCode,
    });
    return this;
  }

  /** `item/tool/call` with the item around it; resolves with what the attempt answered. */
  async tool(tool: string, args: Fields, callId = `call-${tool}`): Promise<unknown> {
    const item = { type: 'dynamicToolCall', id: callId, tool, namespace: null, arguments: args };
    this.begin({ ...item, status: 'inProgress' });
    const given = await this.ask('item/tool/call', { callId, namespace: null, tool, arguments: args });
    const { contentItems = [], success = false } = given as { contentItems?: unknown; success?: unknown };
    this.finish({ ...item, status: success === true ? 'completed' : 'failed', success, contentItems, durationMs: 1 });
    return given;
  }

  /** A server request of this turn. */
  ask(method: string, params: Fields): Promise<unknown> {
    return this.client.ask(method, { threadId: this.threadId, turnId: this.turnId, ...params });
  }

  /** One model request's figures, added to the thread's total. */
  usage({ input, cached = 0, output, cacheWrite = 0, window }: TokenFigures): this {
    this.#total = {
      input: this.#total.input + input,
      cached: this.#total.cached + cached,
      output: this.#total.output + output,
      cacheWrite: this.#total.cacheWrite + cacheWrite,
    };
    const last = { input, cached, output, cacheWrite };
    const modelContextWindow = window ?? null;
    const tokenUsage = { total: wire(this.#total), last: wire(last), modelContextWindow };
    this.notify('thread/tokenUsage/updated', { tokenUsage });
    return this;
  }

  /** The figures of the last report once more, as a dropped stream does. */
  repeatUsage({ input, cached = 0, output, cacheWrite = 0 }: TokenFigures): this {
    const last = { input, cached, output, cacheWrite };
    this.notify('thread/tokenUsage/updated', { tokenUsage: { total: wire(this.#total), last: wire(last) } });
    return this;
  }

  completed(): void {
    this.#end('completed', null);
  }

  interrupted(): void {
    this.#end('interrupted', null);
  }

  failed(message: string, codexErrorInfo: unknown = 'other'): void {
    const error = { message, codexErrorInfo, additionalDetails: null, misalignment: null };
    this.notify('error', { error, willRetry: false });
    this.#end('failed', error);
  }

  #end(status: string, error: unknown): void {
    if (this.over) return;
    this.over = true;
    this.client.notify('turn/completed', {
      threadId: this.threadId,
      turn: { id: this.turnId, status, error, items: [], itemsView: 'notLoaded', durationMs: 1 },
    });
  }

  /** Everything of a plain turn. */
  plain(text = ANSWER): void {
    this.started().user().message(text).usage({ input: 100, cached: 80, output: 5 }).completed();
  }
}

function wire({ input, cached, output, cacheWrite }: Required<Omit<TokenFigures, 'window'>>) {
  return {
    totalTokens: input + output,
    inputTokens: input,
    cachedInputTokens: cached,
    cacheWriteInputTokens: cacheWrite,
    outputTokens: output,
    reasoningOutputTokens: 0,
  };
}
