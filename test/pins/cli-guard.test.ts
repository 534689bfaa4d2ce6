import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FAULT_GRACE_MS, Guard } from '../../src/cli/guard.ts';
import { AttemptError, messageOf } from '../../src/errors.ts';

class FakeProcess extends EventEmitter {
  exitCode: number | undefined;
  exit(code: number): void {
    this.exitCode = code;
    this.emit('exit', code);
  }
}

const INSIDE_EXIT = 'the process was ended from inside: an engine, a hook or a tool called process.exit()';
const OUTSIDE_CALL =
  'an engine, a hook or a tool threw outside of every call (a timer or a promise that nobody waits for): ';

function setUp() {
  const host = new FakeProcess();
  const said: string[] = [];
  const voice = {
    error: (text: string) => said.push(`error ${text}`),
    warn: (text: string) => said.push(`warn ${text}`),
    debug: (text: string) => said.push(`debug ${text.split('\n')[0]}`),
  };
  const guard = new Guard(host, voice, (text) => said.push(`stdout ${text}`));
  guard.lastLine = (error) => messageOf(error);
  return { host, said, guard };
}

const never = new Promise<never>(() => undefined);
const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'resolved',
    (error: unknown) => error,
  );
const late = (why: string): AttemptError => new AttemptError('engine_invalid', `./e.mjs ${why}`);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a process that is ended from inside', () => {
  it.each([0, 1, 7, 13])('with %d: exit 1, a line, and the last line of stdout', (code) => {
    const { host, said } = setUp();
    host.exit(code);
    expect(host.exitCode).toBe(1);
    expect(said).toEqual([`error ${INSIDE_EXIT} (internal)`, `stdout ${INSIDE_EXIT}`]);
  });

  it('after the outcome was told: the exit code of the outcome, no second last line', () => {
    const { host, said, guard } = setUp();
    guard.settle(3);
    host.exit(0);
    expect(host.exitCode).toBe(3);
    expect(said).toEqual([`warn ${INSIDE_EXIT} after the outcome was told`]);
  });

  it('by ourselves says nothing of it', () => {
    const { host, said, guard } = setUp();
    guard.exitNow(new AttemptError('aborted', 'twice'), 130);
    expect([host.exitCode, said]).toEqual([130, ['stdout twice']]);
    const other = setUp();
    other.guard.over();
    other.host.exit(4);
    expect([other.host.exitCode, other.said]).toEqual([4, []]);
  });
});

describe('a throw outside every call', () => {
  it.each([
    ['uncaughtException', new Error('boom'), 'boom', ['debug Error: boom']],
    ['unhandledRejection', 'a text', 'a text', []],
    ['unhandledRejection', undefined, 'undefined', []],
  ])('%s of %s: one line, the stack apart, and the command is aborted', async (event, thrown, text, stack) => {
    const { host, said, guard } = setUp();
    const command = rejection(guard.bounded(never));
    host.emit(event, thrown);
    host.emit(event, thrown);
    expect(said.filter((line) => !line.startsWith('debug'))).toEqual([`error ${OUTSIDE_CALL}${text} (internal)`]);
    expect(said.slice(0, stack.length)).toEqual(stack);
    expect(guard.signal.aborted).toBe(true);
    expect(guard.fault).toMatchObject({ code: 'internal', message: `${OUTSIDE_CALL}${text}` });
    vi.advanceTimersByTime(FAULT_GRACE_MS);
    expect(await command).toBe(guard.fault);
  });

  it('a command that ends in order in time is heard', async () => {
    const { host, guard } = setUp();
    const command = guard.bounded(Promise.resolve(1));
    host.emit('uncaughtException', new Error('boom'));
    expect(await command).toBe(1);
  });

  it('after the outcome was told is a warning and ends nothing', () => {
    const { host, said, guard } = setUp();
    guard.settle(0);
    host.emit('unhandledRejection', 'late');
    expect(said).toEqual([`warn ${OUTSIDE_CALL}late`]);
    expect([guard.fault, guard.signal.aborted]).toEqual([null, false]);
  });

  it('then an exit from inside: the last line names the throw', () => {
    const { host, said } = setUp();
    host.emit('unhandledRejection', 'first');
    host.exit(0);
    expect(host.exitCode).toBe(1);
    expect(said.at(-1)).toBe(`stdout ${OUTSIDE_CALL}first`);
  });
});

describe('waiting for code of others', () => {
  it('gives what it gives', async () => {
    const { guard } = setUp();
    expect(await guard.waitFor(Promise.resolve('x'), { ms: 10, late })).toBe('x');
    const error = new Error('its own');
    expect(await rejection(guard.waitFor(Promise.reject(error), { ms: 10, late }))).toBe(error);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is bounded in time', async () => {
    const { guard } = setUp();
    const wait = rejection(guard.waitFor(never, { ms: 30_000, late }));
    vi.advanceTimersByTime(30_000);
    expect(await wait).toMatchObject({ code: 'engine_invalid', message: './e.mjs took longer than 30 s' });
  });

  it('ends when nothing is left that could end it', async () => {
    const { host, guard, said } = setUp();
    const wait = rejection(guard.waitFor(never, { ms: 30_000, late }));
    host.emit('beforeExit', 0);
    expect(await wait).toMatchObject({ message: './e.mjs waits for something that never happens' });
    expect([guard.fault, said]).toEqual([null, []]);
  });

  it('ends with the fault, also one that came before', async () => {
    const { host, guard } = setUp();
    const before = rejection(guard.waitFor(never, { ms: 10, late }));
    host.emit('uncaughtException', new Error('boom'));
    const after = rejection(guard.waitFor(never, { ms: 10, late }));
    expect([await before, await after]).toEqual([guard.fault, guard.fault]);
  });

  it('ends with a stop', async () => {
    const { guard } = setUp();
    const stop = new AbortController();
    const wait = rejection(guard.waitFor(never, { ms: 10, late, signal: stop.signal }));
    stop.abort();
    expect(await wait).toMatchObject({ code: 'aborted' });
  });
});

it('a command that nothing can end any more is ended', async () => {
  const { host, said, guard } = setUp();
  const command = rejection(guard.bounded(never));
  host.emit('beforeExit', 0);
  expect(await command).toMatchObject({ code: 'internal' });
  expect(said).toEqual(['error an engine, a hook or a tool never answers, and nothing else is under way (internal)']);
});
