import { describe, expect, it } from 'vitest';
import { UsageMeter } from '../../src/codex/usage.ts';

type Fields = Record<string, unknown>;

const figures = (input: number, cached: number, output: number, more: Fields = {}): Fields => ({
  totalTokens: input + output,
  inputTokens: input,
  cachedInputTokens: cached,
  cacheWriteInputTokens: 0,
  outputTokens: output,
  reasoningOutputTokens: 0,
  ...more,
});

function meter(...reports: Fields[]): UsageMeter {
  const made = new UsageMeter();
  for (const report of reports) made.accept(report);
  return made;
}

const NOTHING = { turn: null, engineTurn: null, lastCall: null, currentTokenCount: null, promptCache: null };
const read = ({ turn, engineTurn, lastCall, currentTokenCount, promptCache }: UsageMeter) => ({
  turn,
  engineTurn,
  lastCall,
  currentTokenCount,
  promptCache,
});

describe('usage of a turn', () => {
  it('counts cached input once (BL-47)', () => {
    const last = figures(100, 80, 5, { reasoningOutputTokens: 2 });
    expect(read(meter({ last, total: last }))).toEqual({
      turn: { inputTokens: 100, cachedInputTokens: 80, outputTokens: 5, reasoningOutputTokens: 2, totalTokens: 105 },
      engineTurn: { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, total: 105 },
      lastCall: { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, total: 105 },
      currentTokenCount: 100,
      promptCache: { lastCallUsage: { input: 20, output: 5, cacheRead: 80, cacheWrite: 0, total: 105 } },
    });
  });

  it('is the sum over its requests, and the last call is the last request', () => {
    const subject = meter(
      { last: figures(100, 0, 10), total: figures(1_100, 0, 110) },
      { last: figures(150, 100, 5, { cacheWriteInputTokens: 20 }), total: figures(1_250, 100, 115) },
    );
    expect(read(subject)).toEqual({
      turn: { inputTokens: 250, cachedInputTokens: 100, outputTokens: 15, reasoningOutputTokens: 0, totalTokens: 265 },
      engineTurn: { input: 150, output: 15, cacheRead: 100, cacheWrite: 20, total: 265 },
      lastCall: { input: 50, output: 5, cacheRead: 100, cacheWrite: 20, total: 155 },
      currentTokenCount: 150,
      promptCache: { lastCallUsage: { input: 50, output: 5, cacheRead: 100, cacheWrite: 20, total: 155 } },
    });
  });

  it('leaves out a report whose total did not move, wherever it stands', () => {
    const first = { last: figures(100, 0, 10), total: figures(100, 0, 10) };
    const second = { last: figures(50, 0, 5), total: figures(150, 0, 15) };
    const reference = read(meter(first, second));
    expect(read(meter(first, first, second))).toEqual(reference);
    expect(read(meter(first, second, second, second))).toEqual(reference);
    // Two requests of the same size are two requests: the total moved.
    expect(meter(first, { last: figures(100, 0, 10), total: figures(200, 0, 20) }).turn?.inputTokens).toBe(200);
  });

  it('leaves out a repeat of what the thread had before the turn', () => {
    const old = { last: figures(100, 0, 10), total: figures(900, 0, 90) };
    const subject = new UsageMeter();
    subject.noteEarlier(old);
    expect(subject.accept(old)).toBeNull();
    expect(read(subject)).toEqual(NOTHING);
  });

  it('is unknown after a compaction until a later request is reported (BL-36)', () => {
    const subject = meter({ last: figures(200_000, 9, 10), total: figures(200_000, 9, 10) });
    subject.compacted();
    const known = { turn: subject.turn, engineTurn: subject.engineTurn };
    expect(read(subject)).toEqual({ ...NOTHING, ...known });
    // The same figures again, and the estimate of the new context, are no later request.
    subject.accept({ last: figures(200_000, 9, 10), total: figures(200_000, 9, 10) });
    subject.accept({ last: figures(0, 0, 0, { totalTokens: 9_000 }), total: figures(200_000, 9, 10) });
    subject.accept({ last: figures(0, 0, 0, { totalTokens: 9_000 }), total: figures(200_001, 9, 10) });
    expect(read(subject)).toEqual({ ...NOTHING, ...known });
    subject.accept({ last: figures(300, 0, 1), total: figures(200_300, 9, 11) });
    expect(subject.currentTokenCount).toBe(300);
  });

  it('has no cache details when both figures are zero over the turn, and has them when one is not', () => {
    const first = { last: figures(100, 0, 10), total: figures(100, 0, 10) };
    expect(meter(first).promptCache).toBeNull();
    const cached = meter(
      { last: figures(100, 40, 10), total: figures(100, 40, 10) },
      {
        last: figures(50, 0, 5),
        total: figures(150, 40, 15),
      },
    );
    expect(cached.promptCache).toEqual({
      lastCallUsage: { input: 50, output: 5, cacheRead: 0, cacheWrite: 0, total: 55 },
    });
    const written = figures(100, 0, 10, { cacheWriteInputTokens: 7 });
    expect(meter({ last: written, total: written }).promptCache?.lastCallUsage?.cacheWrite).toBe(7);
  });

  it('tells how full the thread is once both figures are known: the last request, the last window', () => {
    const report = (input: number, total: number, more: Fields) => ({
      last: figures(input, 0, 10),
      total: figures(total, 0, 10),
      ...more,
    });
    expect(meter().context).toBeNull();
    expect(meter(report(100, 100, {})).context).toBeNull();
    expect(meter({ modelContextWindow: 1_000 }).context).toBeNull();
    for (const wrong of [null, 0, -1, '1000', Number.NaN]) {
      expect(meter(report(100, 100, { modelContextWindow: wrong })).context).toBeNull();
    }
    const subject = meter(
      report(100, 100, { modelContextWindow: 1_000 }),
      report(150, 250, { model_context_window: 2_000 }),
      report(160, 410, { modelContextWindow: null }),
    );
    expect(subject.context).toEqual({ tokens: 160, window: 2_000 });
    subject.compacted();
    expect(subject.context).toBeNull();
  });

  it('reads snake_case names and fills a total that is missing', () => {
    const last = { input_tokens: 8, cached_input_tokens: 3, output_tokens: 9 };
    expect(meter({ last }).engineTurn).toEqual({ input: 5, output: 9, cacheRead: 3, cacheWrite: 0, total: 17 });
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'x'],
    ['no last', { total: figures(900, 0, 90) }],
    ['an empty last', { last: {}, total: figures(900, 0, 90) }],
    ['a last that is no object', { last: [1], total: figures(900, 0, 90) }],
    ['negative figures', { last: figures(-1, 0, -1) }],
    ['figures that are no numbers', { last: { inputTokens: '5', outputTokens: Number.NaN } }],
  ])('%s is no report: null, not zeros', (_name, report) => {
    const subject = new UsageMeter();
    expect(subject.accept(report)).toBeNull();
    expect(read(subject)).toEqual(NOTHING);
  });

  it('never counts more cached tokens than there was input', () => {
    const last = figures(10, 99, 1);
    expect(meter({ last, total: last }).engineTurn).toEqual({
      input: 0,
      output: 1,
      cacheRead: 10,
      cacheWrite: 0,
      total: 11,
    });
  });
});
