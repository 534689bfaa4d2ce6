import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock, HostTool, ToolCallContext, ToolResult } from '../../src/ports.ts';
import {
  createToolCallHandler,
  type ToolCallOptions,
  type ToolCallReport,
  toDynamicToolSpecs,
  toolNames,
} from '../../src/tools/dynamic-tools.ts';
import { loadTools } from '../../src/tools/load.ts';
import { compileSchema } from '../../src/tools/schema.ts';
import { createServerRequestHandler } from '../../src/tools/server-requests.ts';

type Execute = HostTool['execute'];

const SCHEMA = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false };
const tool = (name: string, execute: Execute = () => 'ok', more: Partial<HostTool> = {}): HostTool => ({
  name,
  description: `does ${name}`,
  parameters: SCHEMA,
  execute,
  ...more,
});
const spec = (name: string) => ({ type: 'function', name, description: `does ${name}`, inputSchema: SCHEMA });
const CALL = {
  threadId: 'thread-1',
  turnId: 'turn-1',
  callId: 'call-1',
  namespace: null,
  tool: 'look',
  arguments: { q: '1' },
};
const said = (text: string, success: boolean) => ({ contentItems: [{ type: 'inputText', text }], success });

/** A clock that moves only when it is told to. */
class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Map<number, { at: number; fn: () => void }>();
  #ids = 0;

  now(): number {
    return this.#now;
  }
  setTimeout(fn: () => void, ms: number): unknown {
    this.#ids += 1;
    this.#timers.set(this.#ids, { at: this.#now + ms, fn });
    return this.#ids;
  }
  clearTimeout(id: unknown): void {
    this.#timers.delete(Number(id));
  }
  get pending(): number {
    return this.#timers.size;
  }
  advance(ms: number): void {
    this.#now += ms;
    for (const [id, { at, fn }] of [...this.#timers]) {
      if (at > this.#now) continue;
      this.#timers.delete(id);
      fn();
    }
  }
}

function handler(tools: HostTool[], options: Partial<ToolCallOptions> = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const reports: ToolCallReport[] = [];
  const yields: string[] = [];
  const call = createToolCallHandler({
    tools,
    threadId: 'thread-1',
    turnId: () => 'turn-1',
    signal: stop.signal,
    clock,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    onYield: (id) => yields.push(id),
    onCall: (report) => reports.push(report),
    ...options,
  });
  return { call, clock, stop, reports, yields };
}

const never = () => new Promise<never>(() => {});
const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('what Codex is told of the tools', () => {
  it('is the same bytes in whatever order they were found (BL-16)', () => {
    const tools = [
      tool('b'),
      tool('x', () => '', { namespace: 'zed' }),
      tool('B'),
      tool('y', () => '', { namespace: 'eng' }),
      tool('a', () => '', { namespace: 'zed' }),
    ];
    const expected = [
      spec('B'),
      spec('b'),
      { type: 'namespace', name: 'eng', description: 'Tools of eng.', tools: [spec('y')] },
      { type: 'namespace', name: 'zed', description: 'Tools of zed.', tools: [spec('a'), spec('x')] },
    ];
    for (let turn = 0; turn < tools.length; turn += 1) {
      tools.push(...tools.splice(0, 1));
      expect(JSON.stringify(toDynamicToolSpecs(tools))).toBe(JSON.stringify(expected));
      expect([...toolNames(tools)]).toEqual(['B', 'b', 'eng.y', 'zed.a', 'zed.x']);
    }
  });

  it.each<[string, HostTool[], string]>([
    ['two tools of one name', [tool('a'), tool('a')], 'tool a: there are two tools of this name'],
    [
      'two of one name in a namespace',
      [tool('a', () => '', { namespace: 'n' }), tool('a', () => '', { namespace: 'n' })],
      'tool n.a: there are two',
    ],
    ['a bad name', [tool('a b')], 'tool a b: names are'],
    ['an empty name', [tool('')], 'names are'],
    ['a bad namespace', [tool('a', () => '', { namespace: 'x.y' })], 'tool x.y.a: names are'],
    ['no function', [tool('a', 'x' as unknown as Execute)], 'tool a: execute is not a function'],
    [
      'no schema',
      [tool('a', () => '', { parameters: null as unknown as HostTool['parameters'] })],
      'tool a: parameters is no JSON Schema',
    ],
    ['a bad schema', [tool('a', () => '', { parameters: { type: 'nonsense' } })], 'not a usable JSON Schema'],
    [
      'a remote reference',
      [tool('a', () => '', { parameters: { $ref: 'https://example.com/x' } })],
      'not a usable JSON Schema',
    ],
  ])('%s is refused', (_name, tools, message) => {
    expect(() => toDynamicToolSpecs(tools)).toThrow(expect.objectContaining({ code: 'tools_invalid' }));
    expect(() => toDynamicToolSpecs(tools)).toThrow(message);
  });

  it('the same name in two namespaces is two tools', () => {
    expect(toDynamicToolSpecs([tool('a'), tool('a', () => '', { namespace: 'n' })])).toHaveLength(2);
  });
});

describe('schemas', () => {
  it.each([
    [undefined],
    ['http://json-schema.org/draft-07/schema#'],
    ['https://json-schema.org/draft/2020-12/schema'],
    ['https://example.com/own-dialect'],
  ])('of dialect %s are understood', ($schema) => {
    const check = compileSchema({ ...($schema === undefined ? {} : { $schema }), ...SCHEMA });
    expect(check({ q: 'x' })).toBeNull();
    expect(check({ q: 1 })).toBe('arguments/q must be string');
    expect(check({})).toBe("arguments must have required property 'q'");
    expect(check({ q: 'x', z: 1 })).toBe('arguments must NOT have additional properties');
  });

  it('unknown keywords and formats are let pass', () => {
    expect(
      compileSchema({ type: 'object', 'x-hint': 1, properties: { d: { format: 'moon-phase' } } })({ d: 'x' }),
    ).toBeNull();
  });

  it('with one $id do not disturb each other', () => {
    const named = (type: string) => compileSchema({ $id: 'https://example.com/one', properties: { q: { type } } });
    expect([named('string')({ q: 1 }), named('number')({ q: 1 })]).toEqual(['arguments/q must be string', null]);
  });

  it('an answer names a handful of problems', () => {
    const properties = Object.fromEntries('abcdefgh'.split('').map((name) => [name, { type: 'string' }]));
    const wrong = Object.fromEntries(Object.keys(properties).map((name) => [name, 1]));
    expect(compileSchema({ type: 'object', properties })(wrong)?.split(', ')).toHaveLength(5);
  });
});

describe('a tool call', () => {
  it('runs the tool and gives its text', async () => {
    const seen: unknown[] = [];
    const { call, clock, reports } = handler([
      tool('look', (args, context) => {
        const { signal, ...ids } = context;
        seen.push(args, ids, signal.aborted);
        return 'found';
      }),
    ]);
    expect(await call(CALL)).toEqual(said('found', true));
    expect(seen).toEqual([{ q: '1' }, { callId: 'call-1', threadId: 'thread-1', turnId: 'turn-1' }, false]);
    expect(reports).toEqual([{ callId: 'call-1', tool: 'look', ok: true, executed: true, durationMs: 0 }]);
    expect(clock.pending).toBe(0);
  });

  it('finds a tool by its namespace', async () => {
    const { call } = handler([tool('look', () => 'plain'), tool('look', () => 'eng', { namespace: 'eng' })]);
    expect(await call({ ...CALL, namespace: 'eng' })).toEqual(said('eng', true));
    expect(await call(CALL)).toEqual(said('plain', true));
  });

  it('is taken while the id of the turn is not known yet', async () => {
    const { call } = handler([tool('look')], { turnId: () => null });
    expect(await call(CALL)).toEqual(said('ok', true));
  });

  it.each([
    ['another thread', { ...CALL, threadId: 'thread-2' }],
    ['another turn', { ...CALL, turnId: 'turn-2' }],
    ['no thread', { ...CALL, threadId: undefined }],
    ['no turn', { ...CALL, turnId: null }],
    ['no call id', { ...CALL, callId: '' }],
    ['no tool', { ...CALL, tool: 7 }],
    ['nothing', null],
  ])('of %s is refused and runs nothing', async (_name, params) => {
    let ran = false;
    const { call, reports } = handler([
      tool('look', () => {
        ran = true;
        return '';
      }),
    ]);
    await expect(call(params)).rejects.toMatchObject({ code: 'tools_failed' });
    expect(ran).toBe(false);
    expect(reports).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['wrong type', { q: 1 }, 'invalid arguments: arguments/q must be string'],
    ['missing', {}, "invalid arguments: arguments must have required property 'q'"],
    ['null', null, "invalid arguments: arguments must have required property 'q'"],
    ['a list', ['x'], 'invalid arguments: not an object'],
    ['a text', 'x', 'invalid arguments: not an object'],
  ])('with bad arguments (%s) is answered without running the tool', async (_name, args, text) => {
    let ran = false;
    const { call, reports } = handler([
      tool('look', () => {
        ran = true;
        return '';
      }),
    ]);
    expect(await call({ ...CALL, arguments: args })).toEqual(said(text, false));
    expect(ran).toBe(false);
    expect(reports.map(({ ok, executed }) => ({ ok, executed }))).toEqual([{ ok: false, executed: false }]);
  });

  it('of an unknown tool is answered', async () => {
    expect(await handler([tool('other')]).call(CALL)).toEqual(said('there is no tool look', false));
  });

  it.each<[string, Execute]>([
    [
      'throws',
      () => {
        throw new Error('no hunter2');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no hunter2'))],
    ['rejects with a text', () => Promise.reject('no hunter2')],
  ])('whose tool %s is a failed result without secrets', async (_name, execute) => {
    const { call, reports } = handler([tool('look', execute)]);
    expect(await call(CALL)).toEqual(said('the tool failed: no [redacted]', false));
    expect(reports).toMatchObject([{ ok: false, executed: true }]);
  });

  it.each([
    [undefined],
    [null],
    [7],
    [{}],
    [{ text: 5 }],
    [[]],
    [{ content: 'a' }],
    [{ content: ['a'] }],
    [{ content: [{ type: 'text' }] }],
  ])('whose tool returns %j is a failed result', async (value) => {
    const { call } = handler([tool('look', () => value as unknown as ToolResult)]);
    expect(await call(CALL)).toEqual(
      said('the tool failed: it returned neither a text, { text } nor { content }', false),
    );
  });

  it.each<[string, ToolResult, string, boolean]>([
    ['one text', { content: [{ type: 'text', text: 'a' }] }, 'a', true],
    [
      'texts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b\nc' },
        ],
      },
      'a\nb\nc',
      true,
    ],
    ['a failure', { content: [{ type: 'text', text: 'no' }], isError: true }, 'no', false],
    ['no part', { content: [] }, '', true],
    [
      'an image',
      { content: [{ type: 'image' }, { type: 'text', text: 'a' }] },
      '[image left out: only text is sent to the model]\na',
      true,
    ],
    ['both forms', { text: 'a', content: [{ type: 'text', text: 'b' }] } as ToolResult, 'a', true],
  ])('may answer in the form of MCP: %s', async (_name, result, text, ok) => {
    const { call } = handler([tool('look', () => result)]);
    expect(await call(CALL)).toEqual(said(text, ok));
  });

  it('may end the turn with an answer in the form of MCP', async () => {
    const { call, yields } = handler([tool('look', () => ({ content: [{ type: 'text', text: 'a' }], yield: true }))]);
    expect(await call(CALL)).toEqual(said('a', true));
    await new Promise(setImmediate);
    expect(yields).toEqual(['call-1']);
  });

  it('can say that it failed', async () => {
    const { call } = handler([tool('look', () => ({ text: 'not there', isError: true }))]);
    expect(await call(CALL)).toEqual(said('not there', false));
  });

  it('gives the model a long text cut', async () => {
    const { call } = handler([tool('look', () => 'x'.repeat(100_010))]);
    const { contentItems } = await call(CALL);
    expect(contentItems[0]?.text).toBe(`${'x'.repeat(50_000)}\n[… 10 characters left out …]\n${'x'.repeat(50_000)}`);
  });

  it('whose tool hangs is answered at the budget, its signal aborts, and what it brings later is dropped', async () => {
    let finish: (text: string) => void = () => {};
    const contexts: ToolCallContext[] = [];
    const { call, clock, reports } = handler([
      tool('look', (_args, context) => {
        contexts.push(context);
        return new Promise<string>((resolve) => {
          finish = resolve;
        });
      }),
    ]);
    const answer = call(CALL);
    clock.advance(89_999);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    expect(await answer).toEqual(said('the tool failed: the tool did not answer within 90000 ms', false));
    expect(contexts[0]?.signal.aborted).toBe(true);
    finish('late');
    await macrotask();
    expect(reports).toEqual([{ callId: 'call-1', tool: 'look', ok: false, executed: true, durationMs: 90_000 }]);
  });

  it('that fails after its time disturbs nobody', async () => {
    let fail: (error: Error) => void = () => {};
    const { call, clock } = handler([tool('look', () => new Promise<string>((_resolve, reject) => (fail = reject)))], {
      budgetMs: 5,
    });
    const answer = call(CALL);
    clock.advance(5);
    expect(await answer).toEqual(said('the tool failed: the tool did not answer within 5 ms', false));
    // An unhandled rejection would fail this run.
    fail(new Error('late'));
    await macrotask();
  });

  it('is answered at once when the turn is stopped, before and during', async () => {
    const { call, stop, clock } = handler([tool('look', never)]);
    const answer = call(CALL);
    stop.abort();
    expect(await answer).toEqual(said('the tool failed: the turn is being stopped', false));
    expect(await call(CALL)).toEqual(said('the turn is being stopped', false));
    expect(clock.pending).toBe(0);
  });

  it('is answered when the tool itself stops the turn', async () => {
    const { call, stop } = handler([
      tool('look', () => {
        stop.abort();
        return never();
      }),
    ]);
    expect(await call(CALL)).toEqual(said('the tool failed: the turn is being stopped', false));
  });

  it('runs beside other calls', async () => {
    const finish = new Map<string, (text: string) => void>();
    const { call } = handler([
      tool('look', (_args, { callId }) => new Promise<string>((resolve) => finish.set(callId, resolve))),
    ]);
    const one = call(CALL);
    const two = call({ ...CALL, callId: 'call-2' });
    finish.get('call-2')?.('two');
    expect(await two).toEqual(said('two', true));
    finish.get('call-1')?.('one');
    expect(await one).toEqual(said('one', true));
  });

  it('that asks to yield is answered first', async () => {
    const { call, yields } = handler([tool('look', () => ({ text: 'bye', yield: true }))]);
    expect(await call(CALL)).toEqual(said('bye', true));
    expect(yields).toEqual([]);
    await macrotask();
    expect(yields).toEqual(['call-1']);
  });

  it.each<[string, Execute]>([
    ['does not ask', () => ({ text: 'x', yield: false })],
    ['fails', () => Promise.reject(new Error('x'))],
  ])('that %s does not yield', async (_name, execute) => {
    const { call, yields } = handler([tool('look', execute)]);
    await call(CALL);
    await macrotask();
    expect(yields).toEqual([]);
  });
});

describe('what the app-server asks', () => {
  const IDS = { threadId: 'thread-1', turnId: 'turn-1', itemId: 'i1' };
  const DENIED = { decision: { denied: { rejection: 'nobody is there to approve this' } } };

  function answering() {
    const denied: string[] = [];
    const answer = createServerRequestHandler({
      threadId: 'thread-1',
      turnId: () => 'turn-1',
      onToolCall: async (params) => ({ tool: params }),
      onDenied: (kind) => denied.push(kind),
    });
    return { denied, ask: (method: string, params: Record<string, unknown>) => answer({ id: 0, method, params }) };
  }

  it.each<[string, Record<string, unknown>, unknown, string[]]>([
    ['item/commandExecution/requestApproval', IDS, { decision: 'decline' }, ['command']],
    ['item/fileChange/requestApproval', IDS, { decision: 'decline' }, ['fileChange']],
    ['item/permissions/requestApproval', IDS, { permissions: {}, scope: 'turn' }, ['permissions']],
    ['execCommandApproval', { conversationId: 'thread-1', callId: 'c' }, DENIED, ['command']],
    ['applyPatchApproval', { conversationId: 'thread-1', callId: 'c' }, DENIED, ['fileChange']],
    ['item/tool/requestUserInput', { ...IDS, questions: [{ id: 'q1' }] }, { answers: {} }, []],
    [
      'mcpServer/elicitation/request',
      { threadId: 'thread-1', turnId: null },
      { action: 'decline', content: null, _meta: null },
      [],
    ],
    [
      'mcpServer/elicitation/request',
      { threadId: 'thread-1', turnId: null, _meta: { codex_approval_kind: 'mcp_tool_call' } },
      { action: 'decline', content: null, _meta: null },
      ['mcpToolCall'],
    ],
    ['item/tool/call', CALL, { tool: CALL }, []],
  ])('%s is answered and fails closed', async (method, params, expected, kinds) => {
    const { ask, denied } = answering();
    expect(await ask(method, params)).toEqual(expected);
    expect(denied).toEqual(kinds);
  });

  const ASKING = [
    'item/commandExecution/requestApproval',
    'item/fileChange/requestApproval',
    'item/permissions/requestApproval',
    'execCommandApproval',
    'applyPatchApproval',
    'mcpServer/elicitation/request',
  ];

  it.each(ASKING)('%s without ids is denied, and not counted against this turn', async (method) => {
    const { ask, denied } = answering();
    expect(JSON.stringify(await ask(method, {}))).toMatch(/decline|denied|"permissions":\{\}/);
    expect(JSON.stringify(await ask(method, { ...IDS, turnId: 'turn-2' }))).toMatch(
      /decline|denied|"permissions":\{\}/,
    );
    expect(denied).toEqual([]);
  });

  it.each([...ASKING, 'item/tool/call', 'item/tool/requestUserInput'])(
    '%s of another thread is left to whoever runs it, and so to a refusal',
    (method) => {
      const { ask, denied } = answering();
      expect(ask(method, { ...IDS, threadId: 'thread-2' })).toBeUndefined();
      expect(denied).toEqual([]);
    },
  );

  it.each([
    'account/chatgptAuthTokens/refresh',
    'attestation/generate',
    'some/future/request',
    'toString',
    '__proto__',
  ])('%s is not answered: the client refuses it', (method) => {
    expect(answering().ask(method, IDS)).toBeUndefined();
  });
});

describe('loading tools', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tools-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const TOOL = `{ name: 'look', description: 'd', parameters: { type: 'object' }, execute: () => 'found' }`;

  it.each([
    ['a list', `export default [${TOOL}]`],
    ['an object with a list', `export default { tools: [${TOOL}] }`],
    ['a function that registers', `export default { async register(api) { api.registerTool(${TOOL}) } }`],
  ])('takes %s', async (_name, source) => {
    await writeFile(join(folder, 'tools.mjs'), source);
    const tools = await loadTools({ spec: './tools.mjs', cwd: folder });
    expect(tools.map(({ name }) => name)).toEqual(['look']);
  });

  it.each([
    ['no such file', null],
    ['a module that throws', `throw new Error('boom')`],
    ['no export', `export const x = 1`],
    ['a text', `export default 'x'`],
    ['no tools', `export default []`],
    ['a tool that is none', `export default [5]`],
    ['a tool without a name', `export default [{ description: 'd', parameters: {}, execute() {} }]`],
    ['a register that throws', `export default { register() { throw new Error('boom') } }`],
  ])('refuses %s', async (_name, source) => {
    if (source !== null) await writeFile(join(folder, 'tools.mjs'), source);
    await expect(loadTools({ spec: './tools.mjs', cwd: folder })).rejects.toMatchObject({
      code: 'tools_invalid',
      message: expect.stringMatching(/^--tools \.\/tools\.mjs: ./),
    });
  });
});
