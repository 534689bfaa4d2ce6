import { describe, expect, it } from 'vitest';
import { capsOfChars, type ProjectionCaps } from '../../src/projection/budget.ts';
import { isHiddenMessage, renderMessages, type ToolPayload } from '../../src/projection/render.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';
import { assistant, image, raw, text, toolCall, toolResult, user } from './projection-messages.ts';

interface Options {
  toolPayload?: ToolPayload;
  caps?: ProjectionCaps;
  redact?: (text: string) => string;
}

function render(
  messages: AgentMessage[],
  { toolPayload = 'elide', caps = capsOfChars(100_000), redact = (t) => t }: Options = {},
) {
  return renderMessages(messages, { prompt: { text: '' }, caps, toolPayload, redact });
}

function blocks(messages: AgentMessage[], options: Options = {}): string[] {
  return render(messages, options).blocks.map(({ head, body }) => head + body);
}

describe('what a message becomes', () => {
  const cases: [string, AgentMessage, string[]][] = [
    ['text is trimmed, inner lines stay', user(' \n a\n\n  b \n'), ['[user]\na\n\n  b']],
    [
      'parts stand on lines of their own',
      user([text('a'), image, text(' '), text('b')]),
      ['[user]\na\n[image omitted]\nb'],
    ],
    ['thinking is dropped', assistant([{ type: 'thinking', thinking: 'hm' }, text('a')]), ['[assistant]\na']],
    [
      'tool call',
      assistant([text('go'), toolCall('exec', { a: 1 })]),
      ['[assistant]\ngo\ntool call: exec [input omitted]'],
    ],
    ['tool result', toolResult('out'), ['[toolResult]\ntool result: call-1 [content omitted]']],
    [
      'result without an id',
      raw({ role: 'toolResult', toolName: 'exec', content: [] }),
      ['[toolResult]\ntool result: exec [content omitted]'],
    ],
    [
      'nameless tools',
      raw({ role: 'assistant', content: [{ type: 'toolCall' }, { type: 'toolResult' }] }),
      ['[assistant]\ntool call: unknown [input omitted]\ntool result: unknown [content omitted]'],
    ],
    [
      'other spellings of tool parts',
      raw({
        role: 'user',
        content: [
          { type: 'tool_use', name: 'a', input: 1 },
          { type: 'tool_result', tool_use_id: 'i', content: 'x' },
        ],
      }),
      ['[user]\ntool call: a [input omitted]\ntool result: i [content omitted]'],
    ],
    [
      'a name is one line of at most 256 characters',
      assistant([toolCall(`a\n\n b${'😀'.repeat(300)}`, {})]),
      [`[assistant]\ntool call: a b${'😀'.repeat(253)} [input omitted]`],
    ],
    [
      'compaction summary',
      raw({ role: 'compactionSummary', summary: 'so far', tokensBefore: 1 }),
      ['[compactionSummary]\nso far'],
    ],
    ['branch summary', raw({ role: 'branchSummary', summary: 'so far', fromId: 'x' }), ['[branchSummary]\nso far']],
    [
      'custom row of the conversation',
      raw({ role: 'custom', customType: 'note', content: [text('kept')], display: true }),
      ['[custom]\nkept'],
    ],
    [
      'shell run of the user',
      raw({ role: 'bashExecution', command: 'cat .env', output: 'KEY=1' }),
      ['[bashExecution]\ntool call: bash [input omitted]\ntool result: bash [content omitted]'],
    ],
    ['role that is not known', raw({ role: 'system', content: 'obey' }), ['[other]\nobey']],
    [
      'part that is not known',
      raw({ role: 'user', content: [{ type: 'audio', data: 'x' }, { type: 7 }] }),
      ['[user]\n[audio content omitted]\n[unknown content omitted]'],
    ],
    [
      'one part instead of a list',
      raw({ role: 'assistant', content: { type: 'text', text: 'a' } }),
      ['[assistant]\na'],
    ],
    ['nothing at all', raw({ role: 'user', content: null }), []],
    [
      'not a part',
      raw({ role: 'user', content: [null, 7, undefined, { type: 'text' }] }),
      ['[user]\n[text content omitted]'],
    ],
  ];
  it.each(cases)('%s', (_name, message, expected) => {
    expect(blocks([message])).toEqual(expected);
  });

  it('skips holes in the list', () => {
    expect(blocks([null, user('a'), undefined] as unknown as AgentMessage[])).toEqual(['[user]\na']);
  });

  it('never carries image data, so broken base64 harms nothing (BL-48)', () => {
    for (const data of ['not base64', '', 'aGVsbG8=', 7]) {
      expect(blocks([raw({ role: 'user', content: [{ type: 'image', data, mimeType: 'image/png' }] })])).toEqual([
        '[user]\n[image omitted]',
      ]);
    }
    expect(
      blocks([raw({ role: 'toolResult', toolCallId: 'c', content: [image] })], { toolPayload: 'preserve' }),
    ).toEqual(['[toolResult]\ntool result: c\n[image omitted]']);
  });

  it('leaves hidden rows out: what a host added for one turn is not replayed (BL-18)', () => {
    const hidden = [
      { role: 'custom', customType: 'runtime-context', content: 'C1' },
      { role: 'custom', customType: 'openclaw.runtime-context', content: 'C1', display: true },
      { role: 'custom', customType: 'note', content: 'C1', display: false },
      { role: 'bashExecution', command: 'C1', output: 'C1', excludeFromContext: true },
    ].map(raw);
    const shown = [
      { role: 'custom', customType: 'my-runtime-contexts', content: 'a', display: true },
      { role: 'custom', content: 'a' },
      { role: 'user', customType: 'runtime-context', content: 'a', display: false },
      { role: 'bashExecution', command: 'a', output: 'a' },
    ].map(raw);
    expect(hidden.map(isHiddenMessage)).toEqual([true, true, true, true]);
    expect(shown.map(isHiddenMessage)).toEqual([false, false, false, false]);
    expect(blocks(hidden)).toEqual([]);
    expect(blocks(shown)).toHaveLength(4);
  });
});

describe('tool payloads', () => {
  const secretCall = assistant([
    toolCall('exec', { token: 'sk-1', cmd: 'cat .env', options: { recursive: true, depth: 2, none: null } }),
  ]);
  const secretResult = toolResult('OPENAI_API_KEY=sk-1\nstatus ok');
  const redact = (value: string): string => value.replaceAll(/sk-\w+/g, '[redacted]');

  it('are left out by default (PROJ-04)', () => {
    const bytes = blocks([secretCall, secretResult]).join('\n');
    expect(bytes).toBe(
      '[assistant]\ntool call: exec [input omitted]\n[toolResult]\ntool result: call-1 [content omitted]',
    );
  });

  it('show the shape of the input and the redacted text of the result in preserve (PROJ-05)', () => {
    expect(blocks([secretCall, secretResult], { toolPayload: 'preserve', redact })).toEqual([
      '[assistant]\ntool call: exec\ninput shape: {"cmd":"[string]","options":{"depth":"[number]","none":"[null]","recursive":"[boolean]"},"token":"[string]"}',
      '[toolResult]\ntool result: call-1\nOPENAI_API_KEY=[redacted]\nstatus ok',
    ]);
  });

  it('are redacted before they are cut, so half a secret cannot stay behind', () => {
    const caps = { ...capsOfChars(100_000), toolPartChars: 60 };
    for (let pad = 0; pad < 60; pad += 1) {
      const [block] = blocks([toolResult(`${'x'.repeat(100)}sk-${'S'.repeat(40)}${'y'.repeat(pad)}`)], {
        toolPayload: 'preserve',
        redact,
        caps,
      });
      expect(block).not.toContain('S');
    }
  });

  it('never throw and stay finite, whatever they are made of', () => {
    const cycle: Record<string, unknown> = {
      big: 10n,
      fn: () => 1,
      sym: Symbol('s'),
      gone: undefined,
      nan: Number.NaN,
    };
    cycle['self'] = cycle;
    cycle['list'] = [cycle, undefined];
    const shared = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ l: inner, r: inner }), 'leaf');
    const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 'leaf');
    const wide = Array.from({ length: 100_000 }, (_, i) => i);
    expect(blocks([assistant([toolCall('t', cycle)])], { toolPayload: 'preserve' })).toEqual([
      '[assistant]\ntool call: t\ninput shape: {"big":"[bigint]","fn":"[function]","list":["[circular]","[undefined]"],"nan":"[number]","self":"[circular]","sym":"[symbol]"}',
    ]);
    const twice = { x: 'text' };
    expect(blocks([assistant([toolCall('t', { a: twice, b: [twice, twice] })])], { toolPayload: 'preserve' })).toEqual([
      '[assistant]\ntool call: t\ninput shape: {"a":{"x":"[string]"},"b":[{"x":"[string]"},{"x":"[string]"}]}',
    ]);
    expect(blocks([raw({ role: 'toolResult', toolCallId: 'c', content: cycle })], { toolPayload: 'preserve' })).toEqual(
      [
        '[toolResult]\ntool result: c\n{"big":10,"fn":"[function]","list":["[circular]","[undefined]"],"nan":NaN,"self":"[circular]","sym":"[symbol]"}',
      ],
    );
    for (const value of [shared, deep, wide, null, undefined, 7, 'x', new Map([[1, 2]]), new Date(0)]) {
      const [block] = blocks(
        [raw({ role: 'assistant', content: [{ type: 'toolCall', name: 't', arguments: value }] })],
        { toolPayload: 'preserve' },
      );
      expect(block?.startsWith('[assistant]\ntool call: t\n')).toBe(true);
      expect(block?.length).toBeLessThan(6_300);
    }
  });

  it('sort keys by code unit, not by locale and not as integers (W1)', () => {
    const input = { ä: 1, z: 1, Z: 1, a: 1, '10': 1, '9': 1, _: 1 };
    expect(blocks([assistant([toolCall('t', input)])], { toolPayload: 'preserve' })[0]).toBe(
      '[assistant]\ntool call: t\ninput shape: {"10":"[number]","9":"[number]","Z":"[number]","_":"[number]","a":"[number]","z":"[number]","ä":"[number]"}',
    );
    const result = (content: unknown): AgentMessage => raw({ role: 'toolResult', toolCallId: 'c', content });
    const one = blocks([result({ b: 1, a: { d: 'x', c: [2] } })], { toolPayload: 'preserve' });
    expect(one).toEqual(['[toolResult]\ntool result: c\n{"a":{"c":[2],"d":"x"},"b":1}']);
    expect(blocks([result({ a: { c: [2], d: 'x' }, b: 1 })], { toolPayload: 'preserve' })).toEqual(one);
  });

  it('share a quarter of the context, newest first, and never push prose out (BL-14)', () => {
    const prose = Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? user(`question ${i}`) : assistant(`answer ${i}`)));
    const results = Array.from({ length: 300 }, (_, i) => toolResult(`${i} ${'r'.repeat(2_000)}`, `call-${i}`));
    const messages = [...prose.slice(0, 3), ...results, ...prose.slice(3)];
    for (const toolPayload of ['elide', 'preserve'] as const) {
      for (const contextChars of [24_000, 4_000, 1_000]) {
        const caps = capsOfChars(contextChars);
        const rendered = render(messages, { toolPayload, caps });
        const isTool = (head: string): boolean => head === '[toolResult]\n';
        expect(rendered.blocks.filter(({ head }) => !isTool(head)).map(({ body }) => body)).toEqual([
          'question 0',
          'answer 1',
          'question 2',
          'answer 3',
          'question 4',
          'answer 5',
        ]);
        const tools = rendered.blocks.filter(({ head }) => isTool(head)).map(({ body }) => body);
        expect(tools.reduce((sum, body) => sum + body.length, 0)).toBeLessThanOrEqual(caps.toolChars);
        expect(tools.at(-1)?.startsWith('tool result: call-299')).toBe(true);
        expect(tools.map((body) => Number(/call-(\d+)/.exec(body)?.[1]))).toEqual(
          tools.map((_, i) => 300 - tools.length + i),
        );
        expect(rendered.droppedMessages).toBe(300 - tools.length);
        expect(rendered.unmarkedChars).toBeGreaterThan(0);
      }
    }
  });

  it('go from whole to named to nothing with age', () => {
    const caps = { contextChars: 1_000, partChars: 1_000, toolChars: 100, toolPartChars: 60 };
    const rendered = render(
      [1, 2, 3, 4].map((i) => toolResult('r'.repeat(40), `c${i}`)),
      { toolPayload: 'preserve', caps },
    );
    expect(rendered).toEqual({
      blocks: [
        { head: '[toolResult]\n', body: 'tool result: c3 [content omitted]' },
        { head: '[toolResult]\n', body: `tool result: c4\n${'r'.repeat(40)}` },
      ],
      unmarkedChars: 2 * (33 + 40),
      markedChars: 40,
      droppedMessages: 2,
    });
  });

  it('never come back once a newer one was shortened or left out', () => {
    const room = (toolChars: number): ProjectionCaps => ({
      contextChars: 1_000,
      partChars: 1_000,
      toolChars,
      toolPartChars: 60,
    });
    const bodies = (messages: AgentMessage[], toolChars: number): string[] =>
      render(messages, { toolPayload: 'preserve', caps: room(toolChars) }).blocks.map(({ body }) => body);
    // The middle one does not fit whole; the oldest would, and is shortened all the same.
    expect(
      bodies([toolResult('r', 'c1'), toolResult('r'.repeat(60), 'c2'), toolResult('r'.repeat(40), 'c3')], 130),
    ).toEqual([
      'tool result: c1 [content omitted]',
      'tool result: c2 [content omitted]',
      `tool result: c3\n${'r'.repeat(40)}`,
    ]);
    // The middle one does not even fit by name; the oldest would.
    expect(
      bodies([toolResult('r', 'c'), toolResult('r', 'c'.repeat(40)), toolResult('r'.repeat(40), 'c3')], 100),
    ).toEqual([`tool result: c3\n${'r'.repeat(40)}`]);
  });
});

it('renders 10,000 messages of 1 KB in linear time', () => {
  const messages = Array.from({ length: 10_000 }, (_, i) =>
    (i % 2 === 0 ? user : assistant)(`${i} ${'<a> [b] c: $5 '.repeat(75)}`),
  );
  const started = performance.now();
  const rendered = render(messages, { caps: capsOfChars(1_000_000) });
  // 50 ms when the machine is quiet; a quadratic step would take minutes.
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(rendered.blocks).toHaveLength(10_000);
});
