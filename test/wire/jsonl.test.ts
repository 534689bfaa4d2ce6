import { describe, expect, it } from 'vitest';
import {
  encodeJsonLine,
  JsonLineDecoder,
  type JsonObject,
  MALFORMED_EXCERPT,
  type MalformedLine,
} from '../../src/codex/jsonl.ts';

function decode(chunks: readonly Buffer[], end = true): { objects: JsonObject[]; malformed: MalformedLine[] } {
  const objects: JsonObject[] = [];
  const malformed: MalformedLine[] = [];
  const decoder = new JsonLineDecoder(
    (object) => objects.push(object),
    (line) => malformed.push(line),
  );
  for (const chunk of chunks) decoder.push(chunk);
  if (end) decoder.end();
  return { objects, malformed };
}

/** `bytes` in chunks of `size`. */
function chunked(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

const TEXTS = [
  'plain',
  'é ü ß',
  '漢字とかな',
  'family 👨‍👩‍👧‍👦 flag 🇩🇪 musical 𝄞',
  'line\u2028and\u2029paragraph\u0085next\u000bvertical\u000cfeed',
  'escaped \n newline \r return \t tab \0 nul',
  'quotes " and \\ and \\ud800 as text',
  '\ufeffbyte order mark',
];

describe('decoding lines', () => {
  const objects = TEXTS.map((text, i) => ({ i, text, nested: { text: [text] } }));
  const bytes = Buffer.from(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));

  it.each([1, 2, 3, 5, 7, 64, 65536])('gives the same objects when the bytes come %i at a time', (size) => {
    expect(decode(chunked(bytes, size))).toEqual({ objects, malformed: [] });
  });

  it('gives the same objects wherever a stream is cut in two', () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(decode([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual({ objects, malformed: [] });
    }
  });

  it('hands an object out with the chunk that completes it and not later', () => {
    expect(decode([Buffer.from('{"a":1}\n{"b":')], false).objects).toEqual([{ a: 1 }]);
    expect(decode([Buffer.from('{"a":1}')], false).objects).toEqual([]);
  });

  it('takes CRLF, blank lines and white space around an object', () => {
    const stream = Buffer.from('{"a":1}\r\n\r\n\n  \t\n  {"b":2}  \r\n');
    expect(decode([stream])).toEqual({ objects: [{ a: 1 }, { b: 2 }], malformed: [] });
  });

  it('takes a last line without its newline at the end of the stream', () => {
    expect(decode([Buffer.from('{"a":1}\n{"b"'), Buffer.from(':2}')])).toEqual({
      objects: [{ a: 1 }, { b: 2 }],
      malformed: [],
    });
  });

  it('reports a line that was torn by the end of the stream', () => {
    const { objects: good, malformed } = decode([Buffer.from('{"a":1}\n{"b":"té')]);
    expect(good).toEqual([{ a: 1 }]);
    expect(malformed).toEqual([{ line: '{"b":"té', reason: expect.stringContaining('JSON'), bytes: 9 }]);
  });

  it.each(['hello', '[1,2]', '"text"', '7', 'null', 'true', '{"a":1}{"b":2}', '{"a":}', '\u2028'])(
    'reports %j, skips it and goes on',
    (line) => {
      const { objects: good, malformed } = decode([Buffer.from(`{"a":1}\n${line}\n{"b":2}\n`)]);
      expect(good).toEqual([{ a: 1 }, { b: 2 }]);
      // White space of Unicode alone is a blank line.
      const expected = line.trim() === '' ? [] : [line];
      expect(malformed.map((bad) => bad.line)).toEqual(expected);
    },
  );

  it('takes bytes that are not UTF-8 without stopping', () => {
    const stream = Buffer.concat([Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from('{"a":1}\n')]);
    const { objects: good, malformed } = decode([stream]);
    expect(good).toEqual([{ a: 1 }]);
    expect(malformed.map((bad) => bad.bytes)).toEqual([2]);
  });

  it('reports a long malformed line by its beginning only', () => {
    const { malformed } = decode([Buffer.from(`${'é'.repeat(100_000)}\n`)]);
    expect(malformed.map(({ line, bytes: length }) => ({ line, length }))).toEqual([
      { line: 'é'.repeat(MALFORMED_EXCERPT), length: 200_000 },
    ]);
  });

  it('joins a line once however many chunks bring it', () => {
    const text = 'x漢'.repeat(1_500_000);
    const line = Buffer.from(`${JSON.stringify({ text })}\n`);
    let joins = 0;
    const concat = Buffer.concat;
    Buffer.concat = (...args: Parameters<typeof concat>) => {
      joins += 1;
      return concat(...args);
    };
    try {
      expect(decode(chunked(line, 1000)).objects).toEqual([{ text }]);
    } finally {
      Buffer.concat = concat;
    }
    expect(line.length).toBeGreaterThan(5_000_000);
    expect(joins).toBe(1);
  });
});

describe('encoding a line', () => {
  it.each(TEXTS)('ends with the only newline byte, and decodes to the same object: %j', (text) => {
    const line = Buffer.from(encodeJsonLine({ text, [text]: 1 }));
    expect([line.indexOf(0x0a), decode([line]).objects]).toEqual([line.length - 1, [{ text, [text]: 1 }]]);
  });

  it.each([
    ['a\ud800b', 'a\ufffdb'],
    ['a\udc00b', 'a\ufffdb'],
    ['\ud83d', '\ufffd'],
    ['\udfff\ud800', '\ufffd\ufffd'],
    ['\\\ud800', '\\\ufffd'],
    ['\\ud800 \\\\ud800 \ud800', '\\ud800 \\\\ud800 \ufffd'],
    ['whole 𝄞 stays \ud834', 'whole 𝄞 stays \ufffd'],
  ])('replaces half a surrogate pair in values and keys: %j', (text, expected) => {
    const line = encodeJsonLine({ text, nested: [{ [text]: text }] });
    expect(JSON.parse(line)).toEqual({ text: expected, nested: [{ [expected]: expected }] });
    expect(Buffer.from(line).toString()).toBe(line);
  });

  it('throws for what JSON cannot say', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(() => encodeJsonLine(cycle)).toThrow(TypeError);
    expect(() => encodeJsonLine({ n: 1n })).toThrow(TypeError);
  });
});
