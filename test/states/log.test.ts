import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AttemptError } from '../../src/errors.ts';
import { createLogger, type LoggerOptions } from '../../src/observe/log.ts';
import { silentLogger } from '../../src/observe/silent.ts';

/** A logger whose lines are kept. */
function keeping(options: Omit<LoggerOptions, 'destination'> = {}) {
  const lines: string[] = [];
  const logger = createLogger({ ...options, destination: { write: (line) => lines.push(line) } });
  const parsed = () =>
    lines.map((line) => {
      const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      return rest;
    });
  return { logger, lines, parsed };
}

describe('createLogger', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'log-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('writes one line of JSON per call, from its level up', () => {
    const { logger, parsed } = keeping({ level: 'warn' });
    logger.debug('d');
    logger.info('i');
    logger.warn('w', { count: 2, ok: true, none: null, absent: undefined, ids: ['a', 'b'] });
    logger.error('e');
    expect(parsed()).toEqual([
      { level: 'warn', message: 'w', count: 2, ok: true, none: null, ids: ['a', 'b'] },
      { level: 'error', message: 'e' },
    ]);
  });

  it('redacts messages, fields, lists, and fields with a secret name', () => {
    const { logger, parsed } = keeping();
    logger.info('with token=abc', {
      reason: 'sk-abcdefgh refused',
      all: ['password: x', 'plain'],
      apiKey: 'anything',
      rowKey: 'codex-app-server:t:u:i:assistant',
    });
    expect(parsed()).toEqual([
      {
        level: 'info',
        message: 'with token=[redacted]',
        reason: '[redacted] refused',
        all: ['password: [redacted]', 'plain'],
        apiKey: '[redacted]',
        rowKey: 'codex-app-server:t:u:i:assistant',
      },
    ]);
  });

  it('never holds the session key, but tells sessions apart', () => {
    const { logger, lines, parsed } = keeping();
    logger.info('m', { sessionKey: 'agent:main:a' });
    logger.info('m', { sessionKey: 'agent:main:b' });
    logger.info('m', { sessionKey: 'agent:main:a' });
    const hashes = parsed().map((line) => line.sessionKeyHash);
    expect(hashes[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(hashes[2]).toBe(hashes[0]);
    expect(hashes[1]).not.toBe(hashes[0]);
    expect(lines.join('')).not.toContain('agent:main');
  });

  it('leaves out fields of text and keeps counts of the same name', () => {
    const { logger, parsed } = keeping();
    logger.info('m', { prompt: 'secret plan', content: ['x'], messages: 4 });
    expect(parsed()).toEqual([{ level: 'info', message: 'm', messages: 4 }]);
  });

  it('appends to a file that only its owner can read, also when it was readable for all', async () => {
    const file = join(folder, 'a.log');
    await writeFile(file, 'before\n', { mode: 0o644 });
    createLogger({ destination: file }).info('after');
    const [before, after] = (await readFile(file, 'utf8')).split('\n');
    expect([before, JSON.parse(after ?? '').message]).toEqual(['before', 'after']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('refuses a file that cannot be opened, naming it', () => {
    expect(() => createLogger({ destination: folder })).toThrow(
      expect.toSatisfy(
        (error) => error instanceof AttemptError && error.code === 'usage' && error.message.includes(folder),
      ),
    );
  });

  it('can be read by a person', () => {
    const { logger, lines } = keeping({ pretty: true });
    logger.warn('slow', { ms: 5, why: 'disk' });
    expect(lines.map((line) => line.slice(13))).toEqual(['warn  slow  ms=5  why="disk"\n']);
  });

  it('says nothing by default in the library', () => {
    expect([silentLogger.debug('m'), silentLogger.info('m'), silentLogger.warn('m'), silentLogger.error('m')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
