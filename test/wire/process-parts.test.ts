import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { whyNotRunnable } from '../../src/codex/binary.ts';
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
    expect(tail('a\n\nb\r\n', '  c  \n', 'd').quote()).toBe('a\nb\nc\nd');
    expect(tail('1\n2\n3\n4\n5\n6\n').quote()).toBe('2\n3\n4\n5\n6');
    expect(tail().quote()).toBe('');
  });

  const frames = Array.from(
    { length: 200 },
    (_, i) => `  ${i}: core::frame\n             at /rustc/library/std/src/x.rs:1:2\n`,
  );
  it.each([
    [
      'a panic before its backtrace',
      `starting\n\nthread 'main' (7) panicked at app/src/main.rs:4:5:\nindex out of bounds\nstack backtrace:\n${frames.join('')}note: Some details are omitted, run with X=full\n`,
      "thread 'main' (7) panicked at app/src/main.rs:4:5:\nindex out of bounds",
    ],
    ['a panic before later errors', 'panicked at x:1\nboom\nERROR a\nERROR b\n', 'panicked at x:1\nboom'],
    [
      'errors among other lines',
      'error: one\nuseless\nTypeError: two\n    at f (x.js:1:1)\nINFO off\nERROR three\n',
      'error: one\nTypeError: two\nERROR three',
    ],
    [
      'lines other than the notices of every start',
      'plain\nWARNING: proceeding, even though we could not\n\u001b[31mERROR\u001b[0m x: Codex could not find bubblewrap on PATH.\n',
      'plain',
    ],
    ['text among control characters', `${'\0'.repeat(200_000)}\nsaid\u0007it${'\0'.repeat(9000)}\n`, 'said it'],
    ['nothing of a flood of them', '\0'.repeat(200_000), ''],
  ])('tells %s', (_, written, quoted) => {
    expect(tail(written).quote()).toBe(quoted);
  });

  it('is of a panic alone when only that may be the reason', () => {
    expect(tail('ERROR a\npanicked at x:1\nboom\n').quote('panics')).toBe('panicked at x:1\nboom');
    expect(tail('ERROR a\nplain\n').quote('panics')).toBe('');
  });

  it('forgets what it is told to', () => {
    const result = tail('panicked at x:1\n');
    result.forget();
    expect(result.quote()).toBe('');
    result.push(Buffer.from('later\n'));
    expect(result.quote()).toBe('later');
  });

  it('has no more than 300 characters, whole lines while one fits', () => {
    const long = 'y'.repeat(140);
    expect(tail(`${long}1\n${long}2\n${long}3\n`).quote()).toBe(`${long}2\n${long}3`);
    expect(tail(`a\n${'z'.repeat(298)}😀${'z'.repeat(9)}\n`).quote()).toBe(`${'z'.repeat(298)}…`);
  });

  it('never holds the end of a secret whose beginning is gone', () => {
    const filler = '\0'.repeat(STDERR_TAIL_BYTES - 10);
    for (const secret of ['sk-0123456789', 'token sk-0123456789']) {
      expect(tail(`${secret}\n${filler}\n`, 'last\n').quote()).toBe('last');
      expect(tail(`${filler}${filler}${secret}`).quote()).toBe('');
    }
  });

  it('cuts multi-byte text without a broken character', () => {
    expect(tail(`${'漢'.repeat(50_000)}\n`, '字\n').quote()).toBe('字');
  });

  it('is the same however it was cut into chunks', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `line ${i} é`).join('\n');
    const bytes = Buffer.from(text);
    for (const size of [7, 4096, 100_000, bytes.length]) {
      const result = tail();
      for (let i = 0; i < bytes.length; i += size) result.push(bytes.subarray(i, i + size));
      expect(result.quote()).toBe([19995, 19996, 19997, 19998, 19999].map((i) => `line ${i} é`).join('\n'));
    }
  });
});

describe('the reason why a binary does not run', () => {
  it('is known for what is no file to be run', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-test-'));
    try {
      const file = path.join(folder, 'codex');
      await writeFile(file, '');
      expect(whyNotRunnable(folder)).toBe('is a folder, not a codex binary');
      expect(whyNotRunnable(file)).toBe('is not executable');
      await chmod(file, 0o755);
      expect(whyNotRunnable(file)).toBe(null);
      expect(whyNotRunnable(path.join(folder, 'absent'))).toBe(null);
      expect(whyNotRunnable('codex')).toBe(null);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
