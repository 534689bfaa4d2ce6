import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AttemptError } from '../../src/errors.ts';
import type { Clock } from '../../src/ports.ts';
import {
  type ModelRequestBody,
  type RehearsalModel,
  rehearsalSetup,
  startRehearsalModel,
} from '../../src/rehearsal/index.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(...args: Parameters<typeof startRehearsalModel>): Promise<RehearsalModel> {
  const model = await startRehearsalModel(...args);
  cleanups.push(() => model.close());
  return model;
}

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rehearsal-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  return folder;
}

function user(text: string) {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

const LOOKUP = { type: 'function', name: 'lookup' };

function asking(text: string, tools: readonly unknown[] = [LOOKUP]): ModelRequestBody {
  return { model: 'rehearsal-1', input: [user(text)], tools };
}

interface Answer {
  status: number;
  text: string;
  events: Record<string, unknown>[];
}

/** Posts a request and reads the answer to its end. */
async function ask(model: RehearsalModel, body: ModelRequestBody): Promise<Answer> {
  const response = await fetch(`${model.baseUrl}/responses`, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  const events = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
  return { status: response.status, text, events };
}

/** The texts of the finished messages of an answer. */
function said(answer: Answer): unknown[] {
  return items(answer)
    .filter((item) => item.type === 'message')
    .map((item) => (item.content as { text: string }[])[0]?.text);
}

function items(answer: Answer): Record<string, unknown>[] {
  return answer.events
    .filter((event) => event.type === 'response.output_item.done')
    .map((event) => event.item as Record<string, unknown>);
}

function usage(answer: Answer): unknown {
  return (answer.events.at(-1)?.response as { usage?: unknown } | undefined)?.usage;
}

describe('the default answer', () => {
  it('quotes the request, is one final message, and counts its texts alone', async () => {
    const answer = await ask(await start(), asking('  two\n words '));
    expect(said(answer)).toEqual(['Rehearsal answer to: "two words". No model was asked.']);
    expect(items(answer).map((item) => [item.type, item.phase])).toEqual([['message', 'final_answer']]);
    expect(usage(answer)).toEqual({
      input_tokens: Math.ceil('user\n  two\n words '.length / 4),
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: Math.ceil('Rehearsal answer to: "two words". No model was asked.'.length / 4),
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 19,
    });
  });

  it('gives equal bytes for equal requests, also from another server', async () => {
    const first = await start();
    const answers = [
      await ask(first, asking('same')),
      await ask(first, asking('same')),
      await ask(await start(), asking('same')),
    ];
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    // What is no text plays no part.
    const dressed = { ...asking('same'), prompt_cache_key: 'k', client_metadata: { turn_id: 't' } };
    expect((await ask(first, dressed)).text).toBe(answers[0]?.text);
  });

  it('never gives two conversations items with the same id', async () => {
    const model = await start();
    const ids = [
      ...items(await ask(model, asking('one'))),
      ...items(await ask(model, { ...asking('one'), input: [user('zero'), user('one')] })),
    ].map((item) => item.id);
    expect(new Set(ids).size).toBe(2);
  });

  it('quotes only what the user asks now when a projection stands before it', async () => {
    const projected =
      'OpenClaw assembled context for this turn:\n\n<conversation_context>\n[user]\nold\n</conversation_context>\n\nCurrent user request:\nnew';
    expect(said(await ask(await start(), asking(projected)))).toEqual([
      'Rehearsal answer to: "new". No model was asked.',
    ]);
  });

  it('cuts a long request between code points', async () => {
    const answer = await ask(await start(), asking('😀'.repeat(81)));
    expect(said(answer)).toEqual([`Rehearsal answer to: "${'😀'.repeat(80)}…". No model was asked.`]);
    expect(answer.events.filter((event) => event.type === 'response.output_text.delta')).toSatisfy(
      (deltas: { delta: string }[]) => deltas.every(({ delta }) => Buffer.from(delta).toString() === delta),
    );
  });

  it('sums up when Codex asks for a summary, and only then', async () => {
    const model = await start();
    const prompt = 'You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary.';
    const summary = await ask(model, { input: [user('first'), user(prompt)] });
    expect(said(summary)).toEqual(['Rehearsal summary of the conversation up to: "first". No model was asked.']);
    // A user who writes the same words is answered: a turn offers tools.
    expect(said(await ask(model, asking(prompt)))).toEqual([`Rehearsal answer to: "${prompt}". No model was asked.`]);
  });

  it.each([
    {},
    { input: 'text' },
    { input: [null, 1, {}, { role: 'user' }, { role: 'user', content: [null] }], tools: 3 },
  ])('answers a body of unusual shape: %j', async (body) => {
    expect(said(await ask(await start(), body))).toEqual(['Rehearsal answer to: "". No model was asked.']);
  });
});

describe('the script', () => {
  it('is played in order, one step per request, and then as it says', async () => {
    const byDefault = await start({ script: { steps: [{ text: 'a' }, { text: 'b' }] } });
    const answers = [];
    for (let i = 0; i < 3; i += 1) answers.push(await ask(byDefault, asking('q')));
    expect(answers.flatMap(said)).toEqual(['a', 'b', 'Rehearsal answer to: "q". No model was asked.']);

    const again = await start({ script: { steps: [{ text: 'a' }], atEnd: 'repeat-last' } });
    const repeated = [await ask(again, asking('q')), await ask(again, asking('q'))];
    expect(repeated.flatMap(said)).toEqual(['a', 'a']);
    // Two items of one turn never share an id, even when the step and the request are the same.
    expect(new Set(repeated.flatMap(items).map((item) => item.id)).size).toBe(2);

    const failing = await start({ script: { steps: [], atEnd: 'fail' } });
    const refused = await ask(failing, asking('q'));
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([400, 'rehearsal_script_ended']);
  });

  it('lets a step wait for its request', async () => {
    const model = await start({
      script: { steps: [{ when: { lastUserIncludes: 'blue' }, text: 'sky' }, { text: 'any' }] },
    });
    const answers = [
      await ask(model, asking('red')),
      await ask(model, asking('so blue')),
      await ask(model, asking('blue')),
    ];
    expect(answers.flatMap(said)).toEqual(['any', 'sky', 'Rehearsal answer to: "blue". No model was asked.']);
  });

  it('keeps its steps from summaries', async () => {
    const summary = { input: [user('You are performing a CONTEXT CHECKPOINT COMPACTION')] };
    const model = await start({ script: { steps: [{ text: 'a' }], compaction: { text: 'short' } } });
    expect([...said(await ask(model, summary)), ...said(await ask(model, asking('q')))]).toEqual(['short', 'a']);
  });

  it('takes functions of the request, and shows when one throws', async () => {
    const model = await start({
      script: {
        steps: [
          (body) => ({ text: `${Object.keys(body).length} fields` }),
          () => {
            throw new Error('no such case');
          },
        ],
      },
    });
    expect(said(await ask(model, asking('q')))).toEqual(['3 fields']);
    const broken = await ask(model, asking('q'));
    expect([broken.status, JSON.parse(broken.text).error]).toEqual([
      500,
      { message: 'no such case', type: 'rehearsal_failed', code: 'rehearsal_failed' },
    ]);
  });

  it('gives all kinds of items in their order, with the usage it names', async () => {
    const model = await start({
      script: {
        steps: [
          {
            reasoning: 'think',
            commentary: 'on it',
            text: 'done',
            toolCalls: [
              { name: 'lookup', arguments: { q: 1 } },
              { name: 'search', namespace: 'eng' },
              { name: 'patch', arguments: 'raw' },
              { name: 'lookup', arguments: '{broken' },
            ],
            usage: { inputTokens: 100, cachedInputTokens: 60, outputTokens: 20, reasoningOutputTokens: 5 },
            deltas: 2,
          },
        ],
      },
    });
    const tools = [
      LOOKUP,
      { type: 'namespace', name: 'eng', tools: [{ type: 'function', name: 'search' }] },
      { type: 'custom', name: 'patch' },
    ];
    const answer = await ask(model, asking('q', tools));
    expect(items(answer).map(({ id: _id, call_id: _callId, ...item }) => item)).toEqual([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'think' }] },
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'on it', annotations: [] }],
      },
      {
        type: 'message',
        role: 'assistant',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: 'done', annotations: [] }],
      },
      { type: 'function_call', name: 'lookup', arguments: '{"q":1}' },
      { type: 'function_call', name: 'search', namespace: 'eng', arguments: '{}' },
      { type: 'custom_tool_call', name: 'patch', input: 'raw' },
      { type: 'function_call', name: 'lookup', arguments: '{broken' },
    ]);
    expect(
      answer.events.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta),
    ).toEqual(['on ', 'it', 'do', 'ne']);
    expect(usage(answer)).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    });
  });

  it.each([
    ['exec_command', { cmd: 'ls' }],
    ['shell_command', { command: 'ls' }],
    ['shell', { command: ['bash', '-lc', 'ls'] }],
  ])('runs commands with the offered tool %s', async (name, args) => {
    const model = await start({ script: { steps: [{ shell: [{ command: 'ls' }] }] } });
    const [call] = items(await ask(model, asking('q', [{ type: 'function', name }])));
    expect([call?.name, JSON.parse(String(call?.arguments))]).toEqual([name, args]);
  });

  it('fails by HTTP, with the code in JSON or as plain text', async () => {
    const steps = [{ error: { status: 429, code: 'usage_limit_reached', message: 'm' } }, { error: { status: 503 } }];
    const model = await start({ script: { steps } });
    const coded = await ask(model, asking('q'));
    expect([coded.status, JSON.parse(coded.text)]).toEqual([
      429,
      { error: { message: 'm', type: 'usage_limit_reached', code: 'usage_limit_reached' } },
    ]);
    const plain = await ask(model, asking('q'));
    expect([plain.status, plain.text]).toEqual([503, 'Rehearsed HTTP 503']);
  });

  it('fails inside the stream, after the items of the step', async () => {
    const model = await start({ script: { steps: [{ text: 'a', error: { responseFailed: 'server_error' } }] } });
    const answer = await ask(model, asking('q'));
    expect(said(answer)).toEqual(['a']);
    expect(answer.events.at(-1)).toEqual({
      type: 'response.failed',
      response: {
        id: expect.stringMatching(/^resp_/),
        object: 'response',
        status: 'failed',
        error: { code: 'server_error', message: 'Rehearsed failure: server_error' },
      },
    });
  });

  it.each(['stall', 'drop'] as const)('%s comes after half of the text', async (kind) => {
    const step = { text: 'abcdefgh', deltas: 4, ...(kind === 'drop' ? { drop: true } : { stall: 'mid' as const }) };
    const model = await start({ script: { steps: [step] } });
    const response = await fetch(`${model.baseUrl}/responses`, { method: 'POST', body: JSON.stringify(asking('q')) });
    const reader = response.body?.getReader();
    let text = '';
    const read = async (until: (text: string) => boolean) => {
      while (!until(text)) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    };
    await read((sofar) => sofar.includes('"delta":"cd"'));
    if (kind === 'drop') {
      await expect(reader?.read()).rejects.toThrow();
      expect(await model.requests[0]?.ended).toBe('dropped');
    } else {
      await reader?.cancel();
      expect(await model.requests[0]?.ended).toBe('left');
    }
    expect(text).not.toContain('"delta":"ef"');
  });

  it.each(['headers', 'first'] as const)('stalls at %s until the model is closed', async (stall) => {
    let record = () => {};
    const asked = new Promise<void>((resolve) => {
      record = resolve;
    });
    const model = await start({ script: { steps: [{ stall }] }, recordTo: () => record() });
    let headSeen = () => {};
    const head = new Promise<void>((resolve) => {
      headSeen = resolve;
    });
    const gone = new Promise<string>((done) => {
      const call = request(`${model.baseUrl}/responses`, { method: 'POST' }, (response) => {
        headSeen();
        response.on('error', () => done('gone')).resume();
      });
      call.on('error', () => done('gone before the head'));
      call.end(JSON.stringify(asking('q')));
    });
    if (stall === 'first') await head;
    else await asked;
    await model.close();
    expect(await gone).toBe(stall === 'first' ? 'gone' : 'gone before the head');
    expect(await model.requests[0]?.ended).toBe('left');
  });

  it('pauses by its clock, before the head and before each piece', async () => {
    const waits: number[] = [];
    const clock: Clock = {
      now: () => 7,
      setTimeout: (fn, ms) => {
        waits.push(ms);
        return setImmediate(fn);
      },
      clearTimeout: (id) => clearImmediate(id as NodeJS.Immediate),
    };
    const model = await start({ clock, script: { steps: [{ text: 'abc', deltas: 3, delayMs: 5000 }] } });
    expect(said(await ask(model, asking('q')))).toEqual(['abc']);
    expect(waits).toEqual([5000, 5000, 5000, 5000]);
    expect(model.requests[0]?.at).toBe(7);
  });
});

describe('the server', () => {
  it('serves nothing but its own path, and refuses the WebSocket', async () => {
    const model = await start();
    const root = new URL(model.baseUrl).origin;
    const statusOf = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
    expect({
      websocket: await statusOf(`${model.baseUrl}/responses`),
      models: await statusOf(`${model.baseUrl}/models`),
      otherMethod: await statusOf(`${model.baseUrl}/responses`, 'PUT'),
      otherPath: await statusOf(`${model.baseUrl}/other`),
      withoutToken: await statusOf(`${root}/v1/responses`, 'POST'),
      noJson: (await fetch(`${model.baseUrl}/responses`, { method: 'POST', body: 'x' })).status,
      noObject: (await fetch(`${model.baseUrl}/responses`, { method: 'POST', body: '[]' })).status,
    }).toEqual({
      websocket: 426,
      models: 200,
      otherMethod: 404,
      otherPath: 404,
      withoutToken: 404,
      noJson: 400,
      noObject: 400,
    });
    expect(model.requests).toEqual([]);
  });

  it('answers only who calls it by its address', async () => {
    const model = await start();
    const status = await new Promise((resolve, reject) => {
      const call = request(`${model.baseUrl}/models`, { headers: { host: 'evil.example' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on('error', reject).end();
    });
    expect(status).toBe(403);
  });

  it('takes another path each time', async () => {
    expect(new URL((await start()).baseUrl).pathname).not.toBe(new URL((await start()).baseUrl).pathname);
  });

  it('records every body before it is answered: to a function, or to a private file that is appended to', async () => {
    const file = join(await tempFolder(), 'requests.ndjson');
    const seen: unknown[] = [];
    await ask(await start({ recordTo: (body) => seen.push(body) }), asking('q'));
    expect(seen).toEqual([asking('q')]);
    for (const text of ['a\nb', 'c']) {
      const model = await start({ recordTo: file });
      await ask(model, asking(text));
      expect(model.requests.map(({ body }) => body)).toEqual([asking(text)]);
      await model.close();
    }
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([asking('a\nb'), asking('c')]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('refuses a record file that cannot be written, naming it', async () => {
    const folder = await tempFolder();
    await expect(startRehearsalModel({ recordTo: folder })).rejects.toSatisfy(
      (error) => error instanceof AttemptError && error.code === 'usage' && error.message.includes(folder),
    );
  });
});

describe('rehearsalSetup', () => {
  it('makes a private home in the side folder and gives the configuration', async () => {
    const sideFolder = join(await tempFolder(), 'a "b".attempt');
    const setup = await rehearsalSetup({ sideFolder, baseUrl: 'http://127.0.0.1:1/t/v1', streamMaxRetries: 2 });
    const codexHome = join(sideFolder, 'rehearsal', 'codex-home');
    expect(setup).toEqual({
      codexHome,
      configOverrides: {
        model: '"rehearsal-1"',
        model_provider: '"rehearsal"',
        model_catalog_json: JSON.stringify(join(codexHome, 'model-catalog.json')),
        'model_providers.rehearsal.name': '"Rehearsal"',
        'model_providers.rehearsal.base_url': '"http://127.0.0.1:1/t/v1"',
        'model_providers.rehearsal.wire_api': '"responses"',
        'model_providers.rehearsal.requires_openai_auth': 'false',
        'model_providers.rehearsal.request_max_retries': '0',
        'model_providers.rehearsal.stream_max_retries': '2',
        check_for_update_on_startup: 'false',
        'analytics.enabled': 'false',
        'features.plugins': 'false',
        'skills.bundled.enabled': 'false',
      },
      env: { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' },
      modelProvider: 'rehearsal',
      model: 'rehearsal-1',
    });
    expect((await stat(codexHome)).mode & 0o777).toBe(0o700);
    expect((await stat(join(codexHome, 'model-catalog.json'))).mode & 0o777).toBe(0o600);
    // May be called again on the same folder.
    expect(await rehearsalSetup({ sideFolder, baseUrl: 'http://127.0.0.1:1/t/v1', streamMaxRetries: 2 })).toEqual(
      setup,
    );
  });
});
