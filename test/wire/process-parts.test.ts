import { describe, expect, it } from 'vitest';
import { codexEnvironment } from '../../src/codex/environment.ts';
import { STDERR_TAIL_BYTES, StderrTail } from '../../src/codex/stderr-tail.ts';
import { compareVersions, versionOf } from '../../src/codex/version.ts';

describe('the environment of the app-server', () => {
  it('has no undefined, lets codexHome win over CODEX_HOME and extraEnv over all', () => {
    const env = {
      PATH: 'p',
      HOME: undefined,
      CODEX_HOME: 'old',
      OPENAI_API_KEY: 'k',
      CODEX_SANDBOX: 'x',
      LC_TIME: 't',
    };
    expect(codexEnvironment({ env })).toEqual({ PATH: 'p', CODEX_HOME: 'old', OPENAI_API_KEY: 'k', LC_TIME: 't' });
    expect(codexEnvironment({ env, codexHome: 'new', extraEnv: { PATH: 'q', X: undefined } })).toEqual({
      PATH: 'q',
      CODEX_HOME: 'new',
      OPENAI_API_KEY: 'k',
      LC_TIME: 't',
    });
  });
});

describe('the version', () => {
  it.each([
    ['me/0.171.0 (Debian 12; x86_64) xterm (me; 1)', 'me', '0.171.0'],
    ['me.x/1.22.333-alpha.4', 'me.x', '1.22.333'],
    ['mexx/1.2.3', 'me.x', null],
    ['other/1.2.3 me/4.5.6', 'me', null],
    ['me/1.2', 'me', null],
    ['', 'me', null],
  ])('is read from %j', (userAgent, name, version) => {
    expect(versionOf(userAgent, name)).toBe(version);
  });

  it('is compared by number', () => {
    const sorted = ['0.9.10', '0.10.0', '0.10.2', '0.10.10', '1.0.0'];
    expect([...sorted].reverse().sort(compareVersions)).toEqual(sorted);
    expect(compareVersions('1.2.3', '1.2.3')).toBe(0);
  });
});

describe('the end of stderr', () => {
  const tail = (...chunks: string[]): StderrTail => {
    const result = new StderrTail((text) => text.replaceAll(/sk-\w+/g, '[redacted]'));
    for (const chunk of chunks) result.push(Buffer.from(chunk));
    return result;
  };

  it('is the last whole lines, without blank ones', () => {
    expect(tail('a\n\nb\r\n', '  c  \n', 'd').lines(3)).toBe('b\nc\nd');
    expect(tail().lines(3)).toBe('');
  });

  it('never holds the end of a secret whose beginning is gone', () => {
    const filler = 'x'.repeat(STDERR_TAIL_BYTES - 10);
    for (const secret of ['sk-0123456789', 'token sk-0123456789']) {
      expect(tail(`${secret}\n${filler}\n`, 'last\n').lines(9)).toBe(`${filler}\nlast`);
      expect(tail(`${filler}${filler}${secret}`).lines(9)).toBe('');
    }
  });

  it('cuts multi-byte text without a broken character', () => {
    expect(tail(`${'漢'.repeat(5000)}\n`, '字\n').lines(9)).toBe('字');
  });

  it('is the same however it was cut into chunks', () => {
    const text = Array.from({ length: 600 }, (_, i) => `line ${i} é`).join('\n');
    const bytes = Buffer.from(text);
    for (const size of [1, 7, 4096, 5000, bytes.length]) {
      const result = tail();
      for (let i = 0; i < bytes.length; i += size) result.push(bytes.subarray(i, i + size));
      expect(result.lines(3)).toBe('line 597 é\nline 598 é\nline 599 é');
    }
  });
});
