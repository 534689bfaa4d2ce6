import { describe, expect, it } from 'vitest';
import { capText } from '../../src/codex/cap-text.ts';
import {
  CodexAppServerEventProjector,
  type CodexEvent,
  type ProjectorOptions,
  type TurnCompletion,
  type TurnEnd,
} from '../../src/codex/events.ts';
import type { ServerNotification } from '../../src/ports.ts';
import type { AgentMessage, MessageUsage } from '../../src/transcript/messages.ts';

const THREAD = 'thread-1';
const TURN = 'turn-1';

type Fields = Record<string, unknown>;

const note = (method: string, params: Fields): ServerNotification => ({
  method,
  params: { threadId: THREAD, turnId: TURN, ...params },
});
const turnStarted = (id = TURN): ServerNotification => ({
  method: 'turn/started',
  params: { threadId: THREAD, turn: { id, status: 'inProgress', items: [], error: null } },
});
const turnCompleted = (turn: Fields = {}, id = TURN): ServerNotification => ({
  method: 'turn/completed',
  params: { threadId: THREAD, turn: { id, status: 'completed', items: [], error: null, ...turn } },
});
const started = (item: Fields) => note('item/started', { item });
const completed = (item: Fields) => note('item/completed', { item });
const delta = (itemId: string, text: string) => note('item/agentMessage/delta', { itemId, delta: text });
const message = (id: string, text: string, phase: string | null = 'final_answer') => ({
  type: 'agentMessage',
  id,
  text,
  phase,
});
const command = (id: string, more: Fields = {}) => ({
  type: 'commandExecution',
  id,
  command: '/bin/bash -lc ls',
  cwd: '/w',
  status: 'inProgress',
  aggregatedOutput: null,
  exitCode: null,
  ...more,
});
const tokens = (input: number, cached: number, output: number) => ({
  totalTokens: input + output,
  inputTokens: input,
  cachedInputTokens: cached,
  cacheWriteInputTokens: 0,
  outputTokens: output,
  reasoningOutputTokens: 0,
});
const usage = (last: Fields, total: Fields, turnId = TURN) =>
  note('thread/tokenUsage/updated', { turnId, tokenUsage: { last, total, modelContextWindow: 258_400 } });

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const ZERO: MessageUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };
const assistant = (content: unknown[], more: Fields = {}) => ({
  role: 'assistant',
  content,
  api: 'openai-responses',
  provider: 'openai',
  model: 'gpt-test',
  usage: ZERO,
  stopReason: 'stop',
  timestamp: 1_000,
  ...more,
});
const text = (value: string) => ({ type: 'text', text: value });
const key = (itemId: string, kind: string) => `codex-app-server:${THREAD}:${TURN}:${itemId}:${kind}`;

function projector(options: Partial<ProjectorOptions> = {}) {
  const told: string[] = [];
  const events: CodexEvent[] = [];
  const completions: TurnCompletion[] = [];
  const subject = new CodexAppServerEventProjector({
    threadId: THREAD,
    attemptId: 'attempt-1',
    now: () => 1_000,
    provider: 'openai',
    model: 'gpt-test',
    redact: (value) => value.replaceAll('hunter2', '[redacted]'),
    onStarted: (id) => told.push(`started ${id}`),
    onCompleted: (end) => {
      told.push(`completed ${end.status}`);
      completions.push(end);
    },
    onEffect: () => told.push('effect'),
    onEvent: (event) => events.push(event),
    onCompaction: (phase) => told.push(`compaction ${phase}`),
    ...options,
  });
  return { subject, told, events, completions };
}

/** A projector that was told everything, with the turn's id known from the start. */
function projected(notifications: readonly ServerNotification[], options: Partial<ProjectorOptions> = {}) {
  const made = projector(options);
  made.subject.bindTurn(TURN);
  for (const notification of notifications) made.subject.accept(notification);
  return made;
}

const roles = (rows: readonly { idempotencyKey: string; message: AgentMessage }[]) =>
  rows.map(({ idempotencyKey }) => idempotencyKey.slice(key('', '').length - 1));

const PLAIN = [
  turnStarted(),
  started({ type: 'userMessage', id: 'u1', content: [] }),
  completed({ type: 'userMessage', id: 'u1', content: [] }),
  started(message('m1', '')),
  delta('m1', 'hel'),
  delta('m1', 'lo'),
  completed(message('m1', 'hello')),
  usage(tokens(5, 2, 7), tokens(905, 402, 107)),
  note('account/rateLimits/updated', { rateLimits: {} }),
  turnCompleted({ items: [message('m1', 'hello')], itemsView: 'summary' }),
];

describe('a plain turn', () => {
  it('gives one assistant row, the milestones and the public stream', () => {
    const { subject, told, events } = projected(PLAIN);
    expect(subject.snapshot('completed')).toEqual({
      text: 'hello',
      partial: false,
      rows: [
        {
          idempotencyKey: key('m1', 'assistant'),
          message: assistant([text('hello')], {
            usage: { input: 3, output: 7, cacheRead: 2, cacheWrite: 0, totalTokens: 12, cost: NO_COST },
          }),
        },
      ],
    });
    expect(told).toEqual(['started turn-1', 'completed completed']);
    expect(subject.replaySafe).toBe(true);
    expect(events).toEqual([
      { type: 'thread.started', thread_id: THREAD },
      { type: 'turn.started' },
      { type: 'item.delta', item_id: 'm1', kind: 'text', delta: 'hel' },
      { type: 'item.delta', item_id: 'm1', kind: 'text', delta: 'lo' },
      { type: 'item.completed', item: { id: 'm1', type: 'agent_message', text: 'hello' } },
      {
        type: 'turn.completed',
        usage: { input_tokens: 5, cached_input_tokens: 2, output_tokens: 7, reasoning_output_tokens: 0 },
      },
    ]);
  });

  it.each(PLAIN.map((_, index) => index).concat(PLAIN.length))(
    'comes out the same when %i notifications precede the answer to turn/start',
    (early) => {
      const reference = projected(PLAIN);
      const { subject, told, events } = projector();
      for (const notification of PLAIN.slice(0, early)) subject.accept(notification);
      expect(told).toEqual([]);
      subject.bindTurn(TURN);
      for (const notification of PLAIN.slice(early)) subject.accept(notification);
      expect(told).toEqual(reference.told);
      expect(events).toEqual(reference.events);
      expect(subject.snapshot('completed')).toEqual(reference.subject.snapshot('completed'));
    },
  );

  it('is the same twice, and when every notification is delivered twice', () => {
    const reference = projected(PLAIN).subject.snapshot('completed');
    const { subject, told } = projected(PLAIN.flatMap((notification) => [notification, notification]));
    // Deltas come once; what they add up to is not looked at once the item is whole.
    expect(subject.snapshot('completed')).toEqual(reference);
    expect(subject.snapshot('completed')).toEqual(reference);
    expect(told).toEqual(['started turn-1', 'completed completed']);
  });

  it('tells the start also when turn/started was lost', () => {
    const { told } = projected([turnCompleted()]);
    expect(told).toEqual(['started turn-1', 'completed completed']);
  });

  it('serves one turn only', () => {
    const { subject } = projected(PLAIN);
    subject.bindTurn(TURN);
    expect(() => subject.bindTurn('turn-2')).toThrow('one turn only');
  });
});

describe('what belongs to others', () => {
  const foreign: readonly ServerNotification[] = [
    turnStarted('turn-0'),
    { method: 'turn/completed', params: { threadId: 'thread-2', turn: { id: TURN, status: 'failed' } } },
    { method: 'turn/completed', params: { turn: { id: TURN, status: 'failed' } } },
    { method: 'turn/completed', params: { threadId: THREAD } },
    note('item/completed', { turnId: 'turn-0', item: message('x', 'other turn') }),
    note('item/completed', { threadId: 'thread-2', item: message('x', 'other thread') }),
    note('item/completed', { threadId: undefined, item: message('x', 'no thread') }),
    note('item/completed', { turnId: undefined, item: message('x', 'no turn') }),
    turnCompleted({ status: 'failed' }, 'turn-0'),
  ];

  it('changes nothing, before and after the turn is known', () => {
    const { subject, told, events } = projector();
    for (const notification of foreign) subject.accept(notification);
    subject.bindTurn(TURN);
    for (const notification of foreign) subject.accept(notification);
    expect(told).toEqual([]);
    expect(events).toEqual([]);
    expect(subject.snapshot('failed')).toEqual({ text: '', partial: false, rows: [] });
  });

  it.each([
    note('some/future/thing', { item: { deep: true } }),
    note('item/started', { item: null }),
    note('item/started', { item: { id: 7, type: 'agentMessage' } }),
    note('item/completed', { item: 'text' }),
    note('item/agentMessage/delta', { itemId: 'm1', delta: 5 }),
    note('thread/tokenUsage/updated', { tokenUsage: { last: 'x', total: [] } }),
    note('thread/tokenUsage/updated', {}),
    note('account/rateLimits/updated', {}),
  ])('a notification of an unknown kind or shape is taken without harm: $method', (notification) => {
    const { subject, told, events } = projected([notification]);
    expect(() => subject.accept({ method: 'x', params: null as unknown as Fields })).not.toThrow();
    expect(told.filter((line) => !line.startsWith('started'))).toEqual([]);
    expect(events.filter(({ type }) => type.startsWith('item'))).toEqual([]);
    expect(subject.snapshot('completed')).toEqual({ text: '', partial: false, rows: [] });
  });

  it('an item of an unknown type is announced by name, leaves no row, and counts as an effect', () => {
    const { subject, told, events } = projected([started({ type: 'futureThing', id: 'f1', secret: 'hunter2' })]);
    expect(events.at(-1)).toEqual({ type: 'item.started', item: { id: 'f1', type: 'future_thing' } });
    expect(subject.snapshot('completed').rows).toEqual([]);
    expect(told).toEqual(['started turn-1', 'effect']);
  });
});

describe('the answer', () => {
  const answerOf = (notifications: readonly ServerNotification[], end: TurnEnd = 'completed') => {
    const { text: answer, partial } = projected([turnStarted(), ...notifications]).subject.snapshot(end);
    return { answer, partial };
  };

  it('is the last final message, also after a tool handoff', () => {
    const notifications = [
      completed(message('m1', 'I will look')),
      completed(command('c1', { status: 'completed', exitCode: 0, aggregatedOutput: 'ok' })),
      completed(message('m2', 'done')),
    ];
    expect(answerOf(notifications)).toEqual({ answer: 'done', partial: false });
  });

  it.each([null, undefined, 'final_answer', 'some_future_phase'])('counts a message of phase %s', (phase) => {
    expect(answerOf([completed({ ...message('m1', 'hi'), phase })])).toEqual({ answer: 'hi', partial: false });
  });

  it.each(['commentary', 'partial_answer'])('does not count a message of phase %s, which keeps its row', (phase) => {
    const notifications = [completed(message('m1', 'the answer')), completed(message('m2', 'a remark', phase))];
    expect(answerOf(notifications)).toEqual({ answer: 'the answer', partial: false });
    expect(roles(projected(notifications).subject.snapshot('completed').rows)).toEqual([
      'm1:assistant',
      'm2:assistant',
    ]);
  });

  it('is not wiped out by an empty last message', () => {
    expect(answerOf([completed(message('m1', 'kept')), completed(message('m2', ''))])).toEqual({
      answer: 'kept',
      partial: false,
    });
  });

  it('is taken from turn/completed when no item carried it, with a row', () => {
    const { subject, events } = projected([turnStarted(), turnCompleted({ items: [message('m9', 'late')] })]);
    const { text: answer, rows } = subject.snapshot('completed');
    expect(answer).toBe('late');
    expect(roles(rows)).toEqual(['m9:assistant']);
    expect(events.map(({ type }) => type)).toEqual([
      'thread.started',
      'turn.started',
      'item.completed',
      'turn.completed',
    ]);
  });

  it('drops the orphan of a stream retry when the turn completes', () => {
    const notifications = [
      started(message('m1', '')),
      delta('m1', 'half an ans'),
      note('error', { error: { message: 'Reconnecting... 1/2' }, willRetry: true }),
      started(message('m2', '')),
      delta('m2', 'whole'),
      completed(message('m2', 'whole')),
    ];
    expect(answerOf([...notifications, turnCompleted()])).toEqual({ answer: 'whole', partial: false });
    for (const end of ['completed', 'interrupted', 'failed', 'exited', 'yielded'] as const) {
      expect(roles(projected(notifications).subject.snapshot(end).rows)).toEqual(['m2:assistant']);
    }
  });

  it.each([
    ['interrupted', { stopReason: 'aborted' }],
    ['yielded', { stopReason: 'stop' }],
    ['failed', { stopReason: 'error', errorMessage: 'the turn failed' }],
    ['exited', { stopReason: 'error', errorMessage: 'codex app-server ended during the turn' }],
  ] as const)('keeps the open message as partial text when the turn is %s', (end, closing) => {
    const notifications = [
      turnStarted(),
      completed(message('m1', 'a remark', 'commentary')),
      started(message('m2', '')),
      delta('m2', 'par'),
      delta('m2', 'tial'),
    ];
    expect(projected(notifications).subject.snapshot(end)).toEqual({
      text: 'partial',
      partial: true,
      rows: [
        { idempotencyKey: key('m1', 'assistant'), message: assistant([text('a remark')]) },
        { idempotencyKey: key('m2', 'assistant'), message: assistant([text('partial')], closing) },
      ],
    });
  });

  it('is not an open remark, which keeps its row', () => {
    const { subject } = projected([
      completed(message('m1', 'the answer')),
      started(message('m2', '', 'commentary')),
      delta('m2', 'a rem'),
    ]);
    const { text: answer, partial, rows } = subject.snapshot('interrupted');
    expect({ answer, partial, rows: roles(rows) }).toEqual({
      answer: 'the answer',
      partial: false,
      rows: ['m1:assistant', 'm2:assistant'],
    });
  });

  it('is the final message, whole, when that was followed by a whole message of another phase', () => {
    const notifications = [
      completed(message('m1', 'the answer')),
      delta('m2', 'more'),
      completed(message('m2', 'more', 'partial_answer')),
    ];
    expect(answerOf(notifications, 'interrupted')).toEqual({ answer: 'the answer', partial: false });
  });

  it('says the reason it is given, redacted', () => {
    const { rows } = projected([delta('m1', 'x')]).subject.snapshot('failed', 'password hunter2 refused');
    expect(rows.map(({ message: row }) => (row.role === 'assistant' ? row.errorMessage : null))).toEqual([
      'password [redacted] refused',
    ]);
  });

  it('is empty, without rows, when nothing was said', () => {
    for (const end of ['completed', 'interrupted', 'failed', 'exited'] as const) {
      expect(projected([turnStarted()]).subject.snapshot(end)).toEqual({ text: '', partial: false, rows: [] });
    }
  });
});

describe('the end', () => {
  it.each([
    [{ status: 'completed' }, { status: 'completed' }],
    [{ status: 'interrupted' }, { status: 'interrupted' }],
    [
      { status: 'failed', error: { message: 'too long', codexErrorInfo: 'contextWindowExceeded' } },
      {
        status: 'failed',
        fault: {
          code: 'context_window_exceeded',
          message: 'the request is larger than the context window of the model: too long',
        },
      },
    ],
    [
      { status: 'failed', error: null },
      { status: 'failed', fault: { code: 'turn_failed', message: 'codex app-server gave no reason' } },
    ],
    [
      { status: 'somethingNew' },
      { status: 'failed', fault: { code: 'turn_failed', message: 'the turn ended in a way that is not known' } },
    ],
  ])('%j is told as %j', (turn, expected) => {
    const { completions, events } = projected([
      turnStarted(),
      turnCompleted(turn),
      turnCompleted({ status: 'completed' }),
    ]);
    expect(completions).toEqual([expected]);
    expect(events.at(-1)?.type).toBe(expected.status === 'completed' ? 'turn.completed' : 'turn.failed');
    expect(events.filter(({ type }) => type === 'turn.completed' || type === 'turn.failed')).toHaveLength(1);
  });

  it('is no error, retryable or not, and no marker in a message', () => {
    const { told, events } = projected([
      turnStarted(),
      note('error', { error: { message: 'Reconnecting... 1/2' }, willRetry: true }),
      note('error', { error: { message: 'gone' }, willRetry: false }),
      completed({ type: 'userMessage', id: 'u1', content: [{ type: 'text', text: '<turn_aborted>' }] }),
      note('rawResponseItem/completed', { item: { type: 'message', role: 'user', content: '<turn_aborted>' } }),
      note('thread/status/changed', { status: { type: 'idle' } }),
    ]);
    expect(told).toEqual(['started turn-1']);
    expect(events.slice(2)).toEqual([
      { type: 'error', message: 'Reconnecting... 1/2', will_retry: true },
      { type: 'error', message: 'gone', will_retry: false },
    ]);
  });

  it('is followed by no public event, though a late command still reaches its row', () => {
    const { subject, events } = projected([
      turnStarted(),
      started(command('c1')),
      completed(message('m1', 'bye')),
      turnCompleted(),
      note('item/commandExecution/outputDelta', { itemId: 'c1', delta: 'late' }),
      completed(command('c1', { status: 'failed', exitCode: -1, aggregatedOutput: 'late' })),
    ]);
    expect(events.at(-1)).toEqual({ type: 'turn.completed', usage: null });
    expect(subject.snapshot('completed').rows[1]?.message).toMatchObject({
      role: 'toolResult',
      content: [text('late\n[exit code -1]')],
    });
  });

  it('is reached although every listener throws, and each throw is logged', () => {
    const lines: string[] = [];
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (line: string, fields?: object) => lines.push(`${line} ${JSON.stringify(fields)}`),
    };
    const boom = () => {
      throw new Error('hunter2');
    };
    const { subject } = projected(PLAIN, { onStarted: boom, onCompleted: boom, onEvent: boom, logger });
    expect(subject.completion).toEqual({ status: 'completed' });
    expect(subject.snapshot('completed').text).toBe('hello');
    expect(lines[0]).toBe(
      'codex turn listener failed {"attemptId":"attempt-1","threadId":"thread-1","listener":"onEvent","error":"[redacted]"}',
    );
  });
});

describe('tools in the rows', () => {
  const call = (name: string, args: Fields, id = 't1') => ({ type: 'toolCall', id, name, arguments: args });
  const pair = (name: string, args: Fields, output: string, isError: boolean) => [
    { idempotencyKey: key('t1', 'toolCall'), message: assistant([call(name, args)], { stopReason: 'toolUse' }) },
    {
      idempotencyKey: key('t1', 'toolResult'),
      message: {
        role: 'toolResult',
        toolCallId: 't1',
        toolName: name,
        content: [text(output)],
        isError,
        timestamp: 1_000,
      },
    },
  ];
  const ARGS = { command: '/bin/bash -lc ls', cwd: '/w' };
  const change = { path: 'a.txt', kind: { type: 'add' }, diff: '+x' };
  const CHANGES = { changes: [{ path: 'a.txt', kind: 'add', diff: '+x' }] };
  const mcp = { type: 'mcpToolCall', id: 't1', server: 'git', tool: 'log', arguments: { n: 1 } };
  const dynamic = { type: 'dynamicToolCall', id: 't1', namespace: null, tool: 'lookup', arguments: { q: '1' } };

  it.each<[string, Fields, string, Fields, string, boolean]>([
    [
      'a command',
      command('t1', { status: 'completed', exitCode: 0, aggregatedOutput: 'a\nb' }),
      'bash',
      ARGS,
      'a\nb',
      false,
    ],
    ['a silent command', command('t1', { status: 'completed', exitCode: 0 }), 'bash', ARGS, '[no output]', false],
    [
      'a failed command',
      command('t1', { status: 'failed', exitCode: 2, aggregatedOutput: 'no' }),
      'bash',
      ARGS,
      'no\n[exit code 2]',
      true,
    ],
    [
      'a command with an exit code',
      command('t1', { status: 'completed', exitCode: 1, aggregatedOutput: 'x' }),
      'bash',
      ARGS,
      'x\n[exit code 1]',
      true,
    ],
    ['a declined command', command('t1', { status: 'declined' }), 'bash', ARGS, '[declined]', true],
    [
      'a change',
      { type: 'fileChange', id: 't1', changes: [change], status: 'completed' },
      'apply_patch',
      CHANGES,
      'add a.txt',
      false,
    ],
    [
      'a declined change',
      { type: 'fileChange', id: 't1', changes: [change], status: 'declined' },
      'apply_patch',
      CHANGES,
      'add a.txt\n[declined]',
      true,
    ],
    [
      'an MCP call',
      { ...mcp, status: 'completed', result: { content: [{ type: 'text', text: 'one' }, { type: 'image' }] } },
      'git.log',
      { n: 1 },
      'one\n[image]',
      false,
    ],
    [
      'a failed MCP call',
      { ...mcp, status: 'failed', error: { message: 'no repo' } },
      'git.log',
      { n: 1 },
      'no repo',
      true,
    ],
    [
      'a dynamic call',
      { ...dynamic, status: 'completed', success: true, contentItems: [{ type: 'inputText', text: 'R' }] },
      'lookup',
      { q: '1' },
      'R',
      false,
    ],
    [
      'a namespaced dynamic call',
      { ...dynamic, namespace: 'eng', status: 'completed', success: true, contentItems: [] },
      'eng.lookup',
      { q: '1' },
      '[no output]',
      false,
    ],
    [
      'a failed dynamic call',
      { ...dynamic, status: 'failed', success: false, contentItems: null },
      'lookup',
      { q: '1' },
      '[failed]',
      true,
    ],
    [
      'a call without usable arguments',
      { ...dynamic, arguments: 'x', success: true, contentItems: [] },
      'lookup',
      { value: 'x' },
      '[no output]',
      false,
    ],
  ])('%s is a call and its result, paired by id', (_name, item, toolName, args, output, isError) => {
    expect(projected([turnStarted(), completed(item)]).subject.snapshot('completed').rows).toEqual(
      pair(toolName, args, output, isError),
    );
  });

  it('takes the streamed output when the completed item has none', () => {
    const { subject } = projected([
      started(command('t1')),
      note('item/commandExecution/outputDelta', { itemId: 't1', delta: 'a' }),
      note('item/commandExecution/outputDelta', { itemId: 't1', delta: 'b' }),
      completed(command('t1', { status: 'completed', exitCode: 0 })),
    ]);
    expect(subject.snapshot('completed').rows).toEqual(pair('bash', ARGS, 'ab', false));
  });

  const OPEN: readonly [string, Fields, string[]][] = [
    ['agentMessage', message('t1', ''), []],
    ['reasoning', { type: 'reasoning', id: 't1', summary: [], content: [] }, []],
    ['plan', { type: 'plan', id: 't1', text: '' }, []],
    ['commandExecution', command('t1'), ['t1:toolCall', 't1:toolResult']],
    ['fileChange', { type: 'fileChange', id: 't1', changes: [change] }, ['t1:toolCall', 't1:toolResult']],
    ['mcpToolCall', mcp, ['t1:toolCall', 't1:toolResult']],
    ['dynamicToolCall', dynamic, ['t1:toolCall', 't1:toolResult']],
    ['collabAgentToolCall', { type: 'collabAgentToolCall', id: 't1' }, []],
    ['webSearch', { type: 'webSearch', id: 't1', query: 'q' }, []],
    ['imageGeneration', { type: 'imageGeneration', id: 't1' }, []],
    ['contextCompaction', { type: 'contextCompaction', id: 't1' }, []],
    ['futureThing', { type: 'futureThing', id: 't1' }, []],
  ];

  it.each(OPEN)('a %s that never completes does not keep the turn from ending', (_type, item, kinds) => {
    for (const end of ['completed', 'yielded'] as const) {
      const { subject } = projected([started(item), completed(message('m1', 'bye')), turnCompleted()]);
      expect(subject.completion).toEqual({ status: 'completed' });
      const { text: answer, rows } = subject.snapshot(end);
      expect(answer).toBe('bye');
      expect(roles(rows)).toEqual([...kinds, 'm1:assistant']);
      if (kinds.length > 0) {
        const toolName = rows[1]?.message.role === 'toolResult' ? rows[1].message.toolName : '';
        expect(rows[1]?.message).toMatchObject({ isError: true });
        expect(JSON.stringify(rows[1]?.message)).toContain(`[${toolName} did not finish]`);
      }
    }
  });

  it.each([
    ['interrupted', { stopReason: 'aborted' }],
    ['failed', { stopReason: 'error', errorMessage: 'the turn failed' }],
  ] as const)('a tool call at the end of a turn that is %s is followed by a row that says so', (end, closing) => {
    const { rows } = projected([started(command('t1'))]).subject.snapshot(end);
    expect(rows).toEqual([
      ...pair('bash', ARGS, '[bash did not finish]', true),
      { idempotencyKey: key('turn', 'assistant'), message: assistant([], closing) },
    ]);
  });

  it('keeps every call next to its own result when calls overlap', () => {
    const { subject } = projected([
      started(command('c1')),
      started({ ...dynamic, id: 'd1' }),
      completed({ ...dynamic, id: 'd1', success: true, contentItems: [] }),
      completed(message('m1', 'remark', 'commentary')),
      completed(command('c1', { status: 'completed', exitCode: 0 })),
    ]);
    expect(roles(subject.snapshot('completed').rows)).toEqual([
      'c1:toolCall',
      'c1:toolResult',
      'd1:toolCall',
      'd1:toolResult',
      'm1:assistant',
    ]);
  });

  it.each(['a😀bcdefg', 'abc😀defgh', 'abcd😀efgh', 'abcdefg😀h'])('no cut goes through a pair: %s', (value) => {
    for (let max = 0; max < value.length; max += 1) expect(capText(value, max)).not.toMatch(/\p{Surrogate}/u);
  });

  it('knows an item whose delta came before its start', () => {
    const { subject } = projected([
      note('item/commandExecution/outputDelta', { itemId: 't1', delta: 'a' }),
      started(command('t1')),
    ]);
    expect(subject.snapshot('completed').rows).toEqual(pair('bash', ARGS, 'a\n[bash did not finish]', true));
  });

  it('takes whole items out of turn/completed once, and leaves unfinished ones unfinished', () => {
    const whole = command('t1', { status: 'completed', exitCode: 0 });
    for (const before of [[], [started(command('t1'))], [completed(whole)]]) {
      const { subject, events } = projected([...before, turnCompleted({ items: [whole], itemsView: 'full' })]);
      expect(subject.snapshot('completed').rows).toEqual(pair('bash', ARGS, '[no output]', false));
      expect(events.filter(({ type }) => type === 'item.completed')).toHaveLength(1);
    }
    const { subject } = projected([started(command('t1')), turnCompleted({ items: [command('t1')] })]);
    expect(subject.snapshot('completed').rows).toEqual(pair('bash', ARGS, '[bash did not finish]', true));
  });

  it('hides secrets and cuts long outputs and arguments', () => {
    const item = command('t1', {
      command: 'login hunter2',
      status: 'completed',
      exitCode: 0,
      aggregatedOutput: `hunter2${'x'.repeat(20_000)}😀${'y'.repeat(7_999)}`,
    });
    const { rows } = projected([
      completed(item),
      completed({ ...mcp, id: 't2', arguments: { apiKey: 'plain', pages: [{ token: 7 }], note: 'hunter2', n: 1 } }),
    ]).subject.snapshot('completed');
    const bytes = JSON.stringify(rows);
    expect(bytes).not.toContain('hunter2');
    expect(rows[0]?.message).toMatchObject({ content: [call('bash', { command: 'login [redacted]', cwd: '/w' })] });
    expect(rows[1]?.message).toMatchObject({
      content: [text(`[redacted]${'x'.repeat(7_990)}\n[… 12012 characters left out …]\n${'y'.repeat(7_999)}`)],
    });
    expect(rows[2]?.message).toMatchObject({
      content: [
        call('git.log', { apiKey: '[redacted]', pages: [{ token: '[redacted]' }], note: '[redacted]', n: 1 }, 't2'),
      ],
    });
  });
});

describe('reasoning and plans', () => {
  const thought = (id: string, summary: string[], content: string[] = []) => ({
    type: 'reasoning',
    id,
    summary,
    content,
  });

  it('stands as thinking at the head of the row it led to', () => {
    const { rows } = projected([
      completed(thought('r1', ['one', 'two'])),
      completed(thought('r2', [], ['raw'])),
      completed(thought('r3', [])),
      completed(message('m1', 'hi')),
    ]).subject.snapshot('completed');
    expect(rows).toEqual([
      {
        idempotencyKey: key('m1', 'assistant'),
        message: assistant([
          { type: 'thinking', thinking: 'one\n\ntwo' },
          { type: 'thinking', thinking: 'raw' },
          text('hi'),
        ]),
      },
    ]);
  });

  it('has a row of its own when it led to nothing', () => {
    const { rows } = projected([completed(thought('r1', ['hm']))]).subject.snapshot('interrupted');
    expect(rows).toEqual([
      {
        idempotencyKey: key('r1', 'reasoning'),
        message: assistant([{ type: 'thinking', thinking: 'hm' }], { stopReason: 'aborted' }),
      },
    ]);
  });

  it('a plan is a row, not the answer', () => {
    const { text: answer, rows } = projected([completed({ type: 'plan', id: 'p1', text: '1. go' })]).subject.snapshot(
      'completed',
    );
    expect(answer).toBe('');
    expect(rows).toEqual([{ idempotencyKey: key('p1', 'plan'), message: assistant([text('1. go')]) }]);
  });
});

describe('effects', () => {
  it.each([
    'commandExecution',
    'fileChange',
    'mcpToolCall',
    'dynamicToolCall',
    'collabAgentToolCall',
    'subAgentActivity',
    'imageGeneration',
  ])('a %s makes the turn unsafe to run again, told once, started or only completed', (type) => {
    for (const say of [started, completed]) {
      const { subject, told } = projected([turnStarted(), say({ type, id: 'e1' }), say({ type, id: 'e2' })]);
      expect(told).toEqual(['started turn-1', 'effect']);
      expect(subject.replaySafe).toBe(false);
    }
  });

  it.each(['userMessage', 'agentMessage', 'reasoning', 'plan', 'webSearch', 'imageView', 'contextCompaction'])(
    'a %s leaves it safe',
    (type) => {
      const { subject } = projected([turnStarted(), started({ type, id: 's1' }), completed({ type, id: 's1' })]);
      expect(subject.replaySafe).toBe(true);
    },
  );
});

describe('native compaction inside a turn', () => {
  const compaction = { type: 'contextCompaction', id: 'k1' };

  it('is told when it starts, completes, or had not completed at the end of the turn', () => {
    expect(projected([started(compaction), completed(compaction), turnCompleted()]).told).toEqual([
      'started turn-1',
      'compaction started',
      'compaction completed',
      'completed completed',
    ]);
    expect(projected([completed(compaction)]).told).toEqual([
      'started turn-1',
      'compaction started',
      'compaction completed',
    ]);
    expect(projected([started(compaction), turnCompleted({ status: 'failed' })]).told).toEqual([
      'started turn-1',
      'compaction started',
      'compaction failed',
      'completed failed',
    ]);
  });

  it('leaves the token count unknown until a later report, and no row pays for it', () => {
    const { subject } = projected([
      started(compaction),
      usage(tokens(200_000, 0, 10), tokens(200_000, 0, 10)),
      usage({ ...tokens(0, 0, 0), totalTokens: 9_000 }, tokens(200_000, 0, 10)),
      completed(compaction),
    ]);
    expect(subject.usage.currentTokenCount).toBeNull();
    expect(subject.usage.lastCall).toBeNull();
    subject.accept(completed(message('m1', 'hi')));
    subject.accept(usage(tokens(100, 80, 5), tokens(200_100, 80, 15)));
    expect(subject.usage.currentTokenCount).toBe(100);
    expect(subject.usage.turn).toMatchObject({ inputTokens: 200_100, outputTokens: 15 });
    expect(subject.snapshot('completed').rows[0]?.message).toMatchObject({
      usage: { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, totalTokens: 105 },
    });
  });
});

describe('usage on the rows', () => {
  it('stands on the row of its request: rows add up to the turn, the last is the last request', () => {
    const { subject } = projected([
      completed(message('m1', 'looking', 'commentary')),
      started(command('c1')),
      usage(tokens(100, 0, 10), tokens(100, 0, 10)),
      completed(command('c1', { status: 'completed', exitCode: 0 })),
      completed(message('m2', 'done')),
      usage(tokens(150, 100, 5), tokens(250, 100, 15)),
      usage(tokens(150, 100, 5), tokens(250, 100, 15)),
    ]);
    const given = subject
      .snapshot('completed')
      .rows.flatMap(({ message: row }) =>
        row.role === 'assistant' ? [[row.usage.input, row.usage.cacheRead, row.usage.output]] : [],
      );
    expect(given).toEqual([
      [0, 0, 0],
      [100, 0, 10],
      [50, 100, 5],
    ]);
  });

  it('goes to the first row when it was reported before any began', () => {
    const { subject } = projected([
      usage(tokens(10, 0, 1), tokens(10, 0, 1)),
      completed(message('m1', 'remark', 'commentary')),
      completed(message('m2', 'done')),
    ]);
    const given = subject
      .snapshot('completed')
      .rows.map(({ message: row }) => (row.role === 'assistant' ? row.usage.input : -1));
    expect(given).toEqual([10, 0]);
  });

  it('does not take the figures of the turn before for its own', () => {
    const old = tokens(70, 0, 7);
    for (const bindFirst of [true, false]) {
      const { subject } = projector();
      if (bindFirst) subject.bindTurn(TURN);
      subject.accept(usage(old, tokens(500, 0, 50), 'turn-0'));
      subject.accept(usage(old, tokens(500, 0, 50)));
      subject.bindTurn(TURN);
      expect(subject.usage.turn).toBeNull();
      subject.accept(usage(tokens(80, 0, 8), tokens(580, 0, 58)));
      expect(subject.usage.turn).toEqual({
        inputTokens: 80,
        cachedInputTokens: 0,
        outputTokens: 8,
        reasoningOutputTokens: 0,
        totalTokens: 88,
      });
    }
  });
});
