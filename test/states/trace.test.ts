import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkTrace, readTrace } from '../../src/observe/read-trace.ts';
import { createTrace, TRACE_EVENT_TYPES, type TraceLine } from '../../src/observe/trace.ts';
import type { Clock } from '../../src/ports.ts';

/** A clock that shows the given times, the last one for ever. */
function clockOf(...times: number[]): Clock {
  return {
    now: () => (times.length > 1 ? (times.shift() ?? 0) : (times[0] ?? 0)),
    setTimeout: () => 0,
    clearTimeout: () => {},
  };
}

describe('createTrace', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'trace-'));
    file = join(folder, 'trace.ndjson');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('writes a header and then each event with its number and time, in place of an older trace', async () => {
    await writeFile(file, 'old\n', { mode: 0o644 });
    const trace = createTrace({ file, clock: clockOf(1000, 1000, 1005, 1003, 1010), attemptId: 'a1' });
    trace.emit({ type: 'attempt.start' });
    trace.emit({ type: 'state.enter', state: 'bootstrap', seq: 99, at: 99 });
    trace.emit({ type: 'usage', inputTokens: 3 });
    await trace.close();
    await trace.close();
    trace.emit({ type: 'usage', inputTokens: 4 });
    expect(
      (await readFile(file, 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { seq: 0, at: 0, type: 'trace.start', version: 1, attemptId: 'a1', startedAt: 1000 },
      { seq: 1, at: 5, type: 'attempt.start' },
      // The clock was set back to 1003.
      { seq: 2, at: 5, type: 'state.enter', state: 'bootstrap' },
      { seq: 3, at: 10, type: 'usage', inputTokens: 3 },
    ]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('has every line on disk as soon as it was emitted', async () => {
    const trace = createTrace({ file, clock: clockOf(0), attemptId: 'a1' });
    trace.emit({ type: 'attempt.start' });
    expect((await readTrace(file)).events.map((event) => event.type)).toEqual(['trace.start', 'attempt.start']);
    await trace.close();
  });

  const said = {
    type: 'tool.call',
    text: 'said',
    prompt: 'said',
    messages: [{ role: 'user', content: 'said' }],
    delta: 'said',
    arguments: { q: 'said' },
    output: 'said',
    content: ['said'],
    developerInstructions: 'said',
    command: 'said',
    nested: { deep: [{ text: 'said', id: 'i1' }] },
    counts: { messages: 4, output: 5, text: true, prompt: null },
  };

  it('holds no text of a user or a model, but counts', () => {
    const lines: TraceLine[] = [];
    const trace = createTrace({ clock: clockOf(0), attemptId: 'a1' });
    trace.onEvent((line) => lines.push(line));
    trace.emit(said);
    expect(lines).toEqual([
      {
        seq: 1,
        at: 0,
        type: 'tool.call',
        nested: { deep: [{ id: 'i1' }] },
        counts: { messages: 4, output: 5, text: true, prompt: null },
      },
    ]);
  });

  it('holds the text when asked, still redacted', () => {
    const lines: TraceLine[] = [];
    const trace = createTrace({ clock: clockOf(0), attemptId: 'a1', includeText: true });
    trace.onEvent((line) => lines.push(line));
    trace.emit(said);
    trace.emit({ type: 'tool.call', text: 'password=abc' });
    expect(lines).toEqual([
      { seq: 1, at: 0, ...said },
      { seq: 2, at: 0, type: 'tool.call', text: 'password=[redacted]' },
    ]);
  });

  it('redacts at every depth, and takes what has no JSON form', () => {
    const lines: TraceLine[] = [];
    const trace = createTrace({ clock: clockOf(0), attemptId: 'a1' });
    trace.onEvent((line) => lines.push(line));
    const circle: Record<string, unknown> = { id: 'c' };
    circle.self = circle;
    const hostile = Object.defineProperty({ id: 'h' }, 'bad', {
      enumerable: true,
      get: () => {
        throw new TypeError('no');
      },
    });
    trace.emit({
      type: 'degraded',
      reason: 'Bearer abcdefgh',
      config: { apiKey: 'abc', list: ['sk-abcdefgh'] },
      key: 'codex-app-server:t:u:i:assistant',
      error: new RangeError('token=abc'),
      when: new Date(0),
      never: new Date(Number.NaN),
      big: 5n,
      nan: Number.NaN,
      fn: () => 1,
      nothing: undefined,
      hostile,
    });
    trace.emit({ type: 'degraded', circle });
    expect(lines[0]).toEqual({
      seq: 1,
      at: 0,
      type: 'degraded',
      reason: 'Bearer [redacted]',
      config: { apiKey: '[redacted]', list: ['[redacted]'] },
      key: 'codex-app-server:t:u:i:assistant',
      error: { name: 'RangeError', message: 'token=[redacted]' },
      when: '1970-01-01T00:00:00.000Z',
      never: null,
      big: '5',
      nan: null,
      hostile: { id: 'h', bad: '(unreadable: TypeError)' },
    });
    expect(JSON.stringify(lines[1])).toContain('"circle":{"id":"c","self":{"id":"c"');
  });

  it.each(['opening', 'writing'])(
    'reports once when %s fails, throws nothing and still tells listeners',
    async (what) => {
      const errors: string[] = [];
      const target = what === 'opening' ? join(folder, 'absent', 'trace.ndjson') : '/dev/full';
      const trace = createTrace({
        file: target,
        clock: clockOf(0),
        attemptId: 'a1',
        onError: (message) => errors.push(message),
      });
      const seen: string[] = [];
      trace.onEvent((line) => seen.push(line.type));
      trace.emit({ type: 'attempt.start' });
      trace.emit({ type: 'attempt.settled' });
      await trace.close();
      expect(errors).toEqual([expect.stringContaining(target)]);
      expect(seen).toEqual(['attempt.start', 'attempt.settled']);
    },
  );

  it('goes on when a listener throws, and forgets listeners that are taken away', () => {
    const errors: string[] = [];
    const seen: string[] = [];
    const trace = createTrace({ clock: clockOf(0), attemptId: 'a1', onError: (message) => errors.push(message) });
    trace.onEvent(() => {
      throw new Error('boom');
    });
    const off = trace.onEvent((line) => seen.push(line.type));
    trace.emit({ type: 'attempt.start' });
    off();
    trace.emit({ type: 'attempt.settled' });
    expect(seen).toEqual(['attempt.start']);
    expect(errors).toEqual(['A trace listener failed: boom']);
  });

  it('is read as far as it goes: torn last line, foreign lines, line separators inside strings', async () => {
    const trace = createTrace({ file, clock: clockOf(0), attemptId: 'a1' });
    trace.emit({ type: 'degraded', reason: 'a\u2028b' });
    await trace.close();
    await appendFile(file, '\n[1]\n{"seq":9}\n{"seq":2,"at":0,"type":"usa');
    const read = await readTrace(file);
    expect(read).toEqual({
      events: [
        { seq: 0, at: 0, type: 'trace.start', version: 1, attemptId: 'a1', startedAt: 0 },
        { seq: 1, at: 0, type: 'degraded', reason: 'a\u2028b' },
      ],
      badLines: 3,
    });
  });

  it('names its event types once', () => {
    expect([...new Set(TRACE_EVENT_TYPES)]).toEqual([...TRACE_EVENT_TYPES]);
  });
});

describe('checkTrace', () => {
  /** A whole trace of these events between header and end. */
  function traceOf(...events: [type: string, state?: string][]): TraceLine[] {
    const all = [['trace.start'], ['attempt.start'], ...events, ['attempt.settled']] as const;
    return all.map(([type, state], seq) => ({
      seq,
      at: seq,
      type,
      ...(type === 'trace.start' ? { version: 1 } : {}),
      ...(state === undefined ? {} : { state }),
    }));
  }
  const visit = traceOf(
    ['state.enter', 'bootstrap'],
    ['state.enter', 'bootstrap.opening'],
    ['state.exit', 'bootstrap.opening'],
    ['state.exit', 'bootstrap'],
    ['state.enter', 'bootstrap'],
    ['state.exit', 'bootstrap'],
  );

  it('finds nothing in a whole trace, also when a state is visited twice', () => {
    expect(checkTrace(visit)).toEqual([]);
  });

  it.each<[string, TraceLine[], string[]]>([
    [
      'an empty trace',
      [],
      [
        'the first line is not trace.start',
        '0 trace.start in place of 1',
        '0 attempt.start in place of 1',
        '0 attempt.settled in place of 1',
        'the last line is not attempt.settled',
      ],
    ],
    ['a visit that never ends', traceOf(['state.enter', 'turning']), ['turning is never left']],
    ['an end without a visit', traceOf(['state.exit', 'turning']), ['turning is left at seq 2 without being entered']],
    [
      'two starts of one visit',
      traceOf(['state.enter', 'turning'], ['state.enter', 'turning'], ['state.exit', 'turning']),
      ['turning is entered at seq 3 while it is entered', 'turning is never left'],
    ],
    [
      'two ends of one visit',
      traceOf(['state.enter', 'turning'], ['state.exit', 'turning'], ['state.exit', 'turning']),
      ['turning is left at seq 4 without being entered'],
    ],
    [
      'events after the end',
      [...traceOf(), { seq: 9, at: 9, type: 'usage' }],
      ['the last line is not attempt.settled'],
    ],
    ['a second end', traceOf(['attempt.settled']), ['2 attempt.settled in place of 1']],
    ['a number twice', visit.map((line, i) => (i === 3 ? { ...line, seq: 2 } : line)), ['seq 2 follows 2']],
    ['time that runs back', visit.map((line, i) => (i === 3 ? { ...line, at: 0 } : line)), ['at 0 follows 2']],
    ['another version', visit.map((line, i) => (i === 0 ? { ...line, version: 2 } : line)), ['version 2 is not 1']],
  ])('finds %s', (_name, events, faults) => {
    expect(checkTrace(events)).toEqual(faults);
  });
});
