import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  currentRequest,
  type ModelRequestBody,
  type RehearsalModel,
  type RehearsalScript,
  type RehearsalStep,
  rehearsalSetup,
  startRehearsalModel,
} from '../../src/rehearsal/index.ts';

const LAUNCHER = createRequire(import.meta.url).resolve('@openai/codex/bin/codex.js');

type Fields = Record<string, unknown>;
interface Message extends Fields {
  id?: number;
  method?: string;
  params: Fields;
}

/** The least of a client: enough to see what the offline model does to a turn. */
interface Server {
  received: Message[];
  request(method: string, params: Fields): Promise<Fields>;
  answer(id: number, result: Fields): void;
  /** The first message, past or to come, that fits. */
  seen(fits: (message: Message) => boolean): Promise<Message>;
  close(): Promise<number | null>;
}

function startServer(env: Readonly<Record<string, string>>, overrides: Readonly<Record<string, string>>): Server {
  const flags = Object.entries(overrides).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  // Its shells must not run the login scripts of whoever runs the tests.
  const home = env['CODEX_HOME'] ?? '/';
  const child = spawn(process.execPath, [LAUNCHER, 'app-server', ...flags], {
    env: { ...process.env, HOME: home, ...env },
  });
  child.stderr.resume();
  const received: Message[] = [];
  const watchers = new Set<() => void>();
  const answers = new Map<number, (message: Message) => void>();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const message of lines.map((line) => JSON.parse(line) as Message)) {
      if (message.method === undefined && message.id !== undefined) answers.get(message.id)?.(message);
      else received.push(message);
    }
    for (const watcher of [...watchers]) watcher();
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const send = (message: Fields) => child.stdin.write(`${JSON.stringify(message)}\n`);
  let nextId = 1;
  return {
    received,
    request(method, params) {
      const id = nextId++;
      return new Promise((resolve, reject) => {
        answers.set(id, (message) =>
          message.error === undefined
            ? resolve(message.result as Fields)
            : reject(new Error(JSON.stringify(message.error))),
        );
        send({ id, method, params });
      });
    },
    answer: (id, result) => send({ id, result }),
    seen: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = received.find(fits);
          if (found === undefined) return;
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        look();
      }),
    close() {
      child.stdin.end();
      return exited;
    },
  };
}

interface Stage {
  model: RehearsalModel;
  /** Resolves at the first model request. */
  asked: Promise<void>;
  server: Server;
  thread(params?: Fields): Promise<string>;
  /** Starts a turn and gives its id. */
  begin(threadId: string, text: string): Promise<string>;
  /** The `turn` of the turn's `turn/completed`. */
  completed(turnId: string): Promise<Fields>;
  run(threadId: string, text: string): Promise<Fields>;
  items(turnId: unknown, method?: string): Fields[];
}

let folder: string;
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rehearsal-real-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(folder, { recursive: true });
});

async function stage(script: RehearsalScript, streamMaxRetries = 0, env: Record<string, string> = {}): Promise<Stage> {
  let record = () => {};
  const asked = new Promise<void>((resolve) => {
    record = resolve;
  });
  const model = await startRehearsalModel({ script, recordTo: () => record() });
  cleanups.push(() => model.close());
  const setup = await rehearsalSetup({ sideFolder: folder, baseUrl: model.baseUrl, streamMaxRetries });
  const server = startServer({ ...env, ...setup.env, CODEX_HOME: setup.codexHome }, setup.configOverrides);
  cleanups.push(() => server.close());
  await server.request('initialize', {
    clientInfo: { name: 'rehearsal_test', version: '0.0.0' },
    capabilities: { experimentalApi: true },
  });
  const stageOf: Stage = {
    model,
    asked,
    server,
    async thread(params = {}) {
      const started = await server.request('thread/start', { cwd: folder, approvalPolicy: 'never', ...params });
      return String((started.thread as Fields).id);
    },
    async begin(threadId, text) {
      const started = await server.request('turn/start', { threadId, input: [{ type: 'text', text }] });
      return String((started.turn as Fields).id);
    },
    async completed(turnId) {
      const done = (message: Message) =>
        message.method === 'turn/completed' && (message.params.turn as Fields).id === turnId;
      return (await server.seen(done)).params.turn as Fields;
    },
    run: async (threadId, text) => stageOf.completed(await stageOf.begin(threadId, text)),
    items: (turnId, method = 'item/completed') =>
      server.received
        .filter((message) => message.method === method && message.params.turnId === turnId)
        .map((message) => message.params.item as Fields),
  };
  return stageOf;
}

/** A script in which the text of the request names the step. */
function byRequest(steps: Readonly<Record<string, RehearsalStep>>): RehearsalScript {
  return { steps: [(body) => steps[currentRequest(body)] ?? { text: 'unplanned' }], atEnd: 'repeat-last' };
}

function messages(items: readonly Fields[]): unknown[] {
  return items.filter((item) => item.type === 'agentMessage').map((item) => [item.phase, item.text]);
}

function outputs(body: ModelRequestBody | undefined): unknown[] {
  return ((body?.input ?? []) as Fields[])
    .filter((item) => String(item.type).endsWith('_output'))
    .map((item) => item.output);
}

// Each test starts processes: the limit is for a busy machine.
describe('the real app-server with the offline model', () => {
  it('answers by default, knows its model, and says the same to the same', async () => {
    const { thread, run, items, server, model } = await stage({ steps: [] });
    const turns = [await run(await thread(), 'hello there'), await run(await thread(), 'hello there')];
    expect(turns.map((turn) => [turn.status, turn.error])).toEqual([
      ['completed', null],
      ['completed', null],
    ]);
    const answers = turns.map((turn) => items(turn.id).filter((item) => item.type === 'agentMessage'));
    expect(messages(answers.flat())).toEqual([
      ['final_answer', 'Rehearsal answer to: "hello there". No model was asked.'],
      ['final_answer', 'Rehearsal answer to: "hello there". No model was asked.'],
    ]);
    expect(answers[0]?.[0]?.id).toBe(answers[1]?.[0]?.id);
    expect(server.received.filter((message) => message.method === 'warning')).toEqual([]);
    const usages = server.received.filter((message) => message.method === 'thread/tokenUsage/updated');
    expect(usages.map((message) => (message.params.tokenUsage as { last: Fields }).last.cachedInputTokens)).toEqual([
      0, 0,
    ]);
    // Nothing in a request tells one session folder from another, but for the working directory.
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain('codex-home');
  });

  it('plays reasoning, commentary, tools and commands', async () => {
    const { thread, begin, completed, items, server, model } = await stage({
      steps: [
        {
          reasoning: 'think',
          commentary: 'on it',
          toolCalls: [
            { name: 'lookup', arguments: { q: 1 } },
            { name: 'search', namespace: 'eng', arguments: {} },
          ],
          shell: [{ command: 'echo from-the-shell' }],
        },
        {
          text: 'done',
          usage: { inputTokens: 100, cachedInputTokens: 60, outputTokens: 20, reasoningOutputTokens: 5 },
        },
      ],
    });
    const schema = { type: 'object', properties: {} };
    const dynamicTools = [
      { name: 'lookup', description: 'd', inputSchema: schema },
      { name: 'search', namespace: 'eng', description: 'd', inputSchema: schema },
    ];
    const turnId = await begin(await thread({ dynamicTools }), 'q');
    for (const tool of ['lookup', 'search']) {
      const call = await server.seen(({ method, params }) => method === 'item/tool/call' && params.tool === tool);
      server.answer(Number(call.id), { contentItems: [{ type: 'inputText', text: `${tool} result` }], success: true });
    }
    expect((await completed(turnId)).status).toBe('completed');
    expect(messages(items(turnId))).toEqual([
      ['commentary', 'on it'],
      ['final_answer', 'done'],
    ]);
    expect(new Set(items(turnId).map((item) => item.type))).toEqual(
      new Set(['userMessage', 'reasoning', 'agentMessage', 'dynamicToolCall', 'commandExecution']),
    );
    const given = JSON.stringify(outputs(model.requests[1]?.body));
    for (const text of ['lookup result', 'search result', 'from-the-shell']) expect(given).toContain(text);
    const usage = server.received.findLast((message) => message.method === 'thread/tokenUsage/updated')?.params
      .tokenUsage;
    expect((usage as { last: Fields }).last).toMatchObject({
      inputTokens: 100,
      cachedInputTokens: 60,
      outputTokens: 20,
      reasoningOutputTokens: 5,
      totalTokens: 120,
    });
  });

  it('gives each kind of error the class that Codex gives the real one', async () => {
    const cases: [RehearsalStep['error'] & {}, unknown][] = [
      [{ status: 401 }, { httpConnectionFailed: { httpStatusCode: 401 } }],
      [{ status: 404 }, { httpConnectionFailed: { httpStatusCode: 404 } }],
      [{ status: 503 }, { httpConnectionFailed: { httpStatusCode: 503 } }],
      [{ status: 400 }, 'other'],
      [{ status: 400, code: 'context_length_exceeded' }, 'contextWindowExceeded'],
      [{ status: 404, code: 'model_not_found' }, 'modelNotFound'],
      [{ status: 429 }, { responseTooManyFailedAttempts: { httpStatusCode: 429 } }],
      [{ status: 429, code: 'usage_limit_reached' }, 'usageLimitExceeded'],
      [{ status: 429, code: 'insufficient_quota' }, 'usageLimitExceeded'],
      [{ status: 500 }, 'internalServerError'],
      [{ status: 503, code: 'server_is_overloaded' }, 'serverOverloaded'],
      [{ responseFailed: 'context_length_exceeded' }, 'contextWindowExceeded'],
      [{ responseFailed: 'server_is_overloaded' }, 'serverOverloaded'],
      [{ responseFailed: 'rate_limit_exceeded' }, 'rateLimitExceeded'],
      [{ responseFailed: 'insufficient_quota' }, 'usageLimitExceeded'],
      [{ responseFailed: 'cyber_policy' }, 'cyberPolicy'],
      [{ responseFailed: 'server_error' }, 'other'],
      [{ responseFailed: 'invalid_prompt' }, 'other'],
    ];
    const steps = Object.fromEntries(cases.map(([error], index) => [`case ${index}`, { error }]));
    const { thread, run } = await stage(byRequest({ ...steps, drop: { text: 'half of it', drop: true } }));
    const classes = [];
    for (const prompt of [...Object.keys(steps), 'drop']) {
      const turn = await run(await thread({ ephemeral: true }), prompt);
      classes.push([prompt, turn.status, (turn.error as Fields).codexErrorInfo]);
    }
    expect(classes).toEqual([
      ...cases.map(([, info], index) => [`case ${index}`, 'failed', info]),
      ['drop', 'failed', 'other'],
    ]);
  });

  it.each([
    ['headers', []],
    ['first', []],
    ['mid', ['half ']],
  ] as const)('stalls at %s until the turn is interrupted', async (stall, deltas) => {
    const { thread, begin, completed, server, model, asked } = await stage({
      steps: [{ text: 'half of it', deltas: 2, stall }],
    });
    const threadId = await thread();
    const turnId = await begin(threadId, 'q');
    if (stall === 'mid') await server.seen(({ method }) => method === 'item/agentMessage/delta');
    else await asked;
    await server.request('turn/interrupt', { threadId, turnId });
    expect((await completed(turnId)).status).toBe('interrupted');
    expect(await model.requests[0]?.ended).toBe('left');
    expect(model.requests).toHaveLength(1);
    const said = server.received
      .filter(({ method }) => method === 'item/agentMessage/delta')
      .map(({ params }) => params.delta);
    expect(said).toEqual(deltas);
  });

  it('drops a stream, and the retry of Codex begins a second message', async () => {
    const { thread, run, items, model } = await stage(
      { steps: [{ text: 'half of it', drop: true }, { text: 'whole' }] },
      1,
    );
    const turn = await run(await thread(), 'q');
    expect(turn.status).toBe('completed');
    const begun = items(turn.id, 'item/started').filter((item) => item.type === 'agentMessage');
    expect([begun.length, new Set(begun.map((item) => item.id)).size]).toEqual([2, 2]);
    expect(messages(items(turn.id))).toEqual([['final_answer', 'whole']]);
    expect([await model.requests[0]?.ended, await model.requests[1]?.ended]).toEqual(['dropped', 'answered']);
  });

  it('sums up for a compaction, by default and by the script', async () => {
    for (const [script, summary] of [
      [{ steps: [] }, 'Rehearsal summary of the conversation up to: "first". No model was asked.'],
      [{ steps: [], compaction: { text: 'scripted summary' } }, 'scripted summary'],
    ] as const) {
      const { thread, run, server, model, completed } = await stage(script);
      const threadId = await thread();
      await run(threadId, 'first');
      await server.request('thread/compact/start', { threadId });
      const done = await server.seen(
        ({ method, params }) => method === 'item/completed' && (params.item as Fields).type === 'contextCompaction',
      );
      expect((await completed(String(done.params.turnId))).status).toBe('completed');
      await run(threadId, 'second');
      expect(JSON.stringify(model.requests.at(-1)?.body.input)).toContain(JSON.stringify(summary).slice(1, -1));
    }
  });

  it('asks nobody else: no other host, not through a proxy, and shows nobody a key of the user', async () => {
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(String(request.url));
      response.writeHead(502).end();
    });
    proxy.on('connect', (request, socket) => {
      asked.push(String(request.url));
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => proxy.close(resolve)));
    const address = proxy.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const proxied = { HTTP_PROXY: url, http_proxy: url, HTTPS_PROXY: url, https_proxy: url, ALL_PROXY: url };
    const key = 'sk-of-the-user';
    const { thread, run, server, model } = await stage({ steps: [] }, 0, {
      ...proxied,
      OPENAI_API_KEY: key,
      CODEX_API_KEY: key,
    });
    expect((await run(await thread(), 'q')).status).toBe('completed');
    expect(await server.close()).toBe(0);
    expect(asked).toEqual([]);
    expect(JSON.stringify(model.requests)).not.toContain(key);
  });
});
