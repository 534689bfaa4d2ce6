import { describe, expect, it } from 'vitest';
import { capsOfChars, estimateTokens, projectionCaps } from '../../src/projection/budget.ts';
import { assistant, image, permuted, raw, sequence, text, toolCall, toolResult, user } from './projection-messages.ts';

describe('caps from the token budget', () => {
  const cases: [{ tokenBudget?: number; reserveTokens?: number }, number][] = [
    // Not known (PROJ-16).
    [{}, 24_000],
    [{ tokenBudget: 0 }, 24_000],
    [{ tokenBudget: -5 }, 24_000],
    [{ tokenBudget: Number.NaN }, 24_000],
    // PROJ-17, 19, 20.
    [{ tokenBudget: 80_000 }, 240_000],
    [{ tokenBudget: 16_000 }, 32_000],
    [{ tokenBudget: 80_000, reserveTokens: 40_000 }, 160_000],
    [{ tokenBudget: 1_000_000 }, 1_000_000],
    [{ tokenBudget: Number.POSITIVE_INFINITY }, 1_000_000],
    // Small windows are honoured: no floor (W7).
    [{ tokenBudget: 8_000 }, 16_000],
    [{ tokenBudget: 500 }, 1_000],
    [{ tokenBudget: 1 }, 2],
    [{ tokenBudget: 0.1 }, 0],
    // A smaller reserve is honoured, a bigger one leaves the least context.
    [{ tokenBudget: 80_000, reserveTokens: 12_000 }, 272_000],
    [{ tokenBudget: 80_000, reserveTokens: 0 }, 320_000],
    [{ tokenBudget: 80_000, reserveTokens: -1 }, 320_000],
    [{ tokenBudget: 80_000, reserveTokens: 500_000 }, 32_000],
  ];
  it.each(cases)('%j → %i characters', (options, chars) => {
    expect(projectionCaps(options)).toEqual(capsOfChars(chars));
    expect(projectionCaps(options).contextChars).toBe(chars);
  });

  it('never shrinks when the budget grows', () => {
    let last = 0;
    for (let tokenBudget = 1; tokenBudget < 400_000; tokenBudget += 97) {
      const { contextChars } = projectionCaps({ tokenBudget });
      expect(contextChars).toBeGreaterThanOrEqual(last);
      last = contextChars;
    }
  });

  it('gives parts and tools their share', () => {
    expect(capsOfChars(240_000)).toEqual({
      contextChars: 240_000,
      partChars: 120_000,
      toolChars: 60_000,
      toolPartChars: 15_000,
    });
    expect(capsOfChars(8_000)).toEqual({ contextChars: 8_000, partChars: 6_000, toolChars: 2_000, toolPartChars: 500 });
    expect(capsOfChars(100.9)).toEqual({ contextChars: 100, partChars: 100, toolChars: 25, toolPartChars: 6 });
    expect(capsOfChars(-3)).toEqual({ contextChars: 0, partChars: 0, toolChars: 0, toolPartChars: 0 });
  });
});

describe('estimated tokens', () => {
  it('are a quarter of the characters, whatever the form of the content', () => {
    const x = 'x'.repeat(400);
    expect(estimateTokens([])).toBe(0);
    expect(estimateTokens([user(x)])).toBe(100);
    expect(estimateTokens([user([text(x), image]), assistant(x), toolResult(x)])).toBe(300);
    expect(estimateTokens([assistant([{ type: 'thinking', thinking: x }])])).toBe(100);
    expect(estimateTokens([assistant([toolCall('exec', { command: x, n: 12, deep: [true] })])])).toBe(106);
    expect(estimateTokens([raw({ role: 'branchSummary', summary: x }), raw({ role: 'custom', content: x })])).toBe(200);
    expect(estimateTokens([raw({ role: 'bashExecution', command: x, output: x })])).toBe(200);
    expect(estimateTokens([user('abcde')])).toBe(2);
  });

  it('do not depend on the order of keys and survive anything', () => {
    const cycle: Record<string, unknown> = { a: 'aaaa', f: () => 1, n: 1n, u: undefined };
    cycle['self'] = cycle;
    expect(estimateTokens([assistant([toolCall('t', cycle)])])).toBe(Math.ceil((1 + 'afnuself'.length + 4) / 4));
    expect(estimateTokens([raw({ role: 'x', content: null }), raw({})])).toBe(0);
    const row = assistant([toolCall('exec', { b: [1, { y: 'z', x: 'w' }], a: 'q' })]);
    for (let seed = 1; seed < 20; seed += 1)
      expect(estimateTokens([permuted(row, sequence(seed))])).toBe(estimateTokens([row]));
  });
});
