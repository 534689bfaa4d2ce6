import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptResult } from '../../src/attempt/types.ts';
import { CONFIG_KEYS, loadSettings } from '../../src/cli/config.ts';
import { EXIT, exitOfCode, exitOfResult } from '../../src/cli/exit.ts';
import { type CliIo, callerFolder, type OutputStream } from '../../src/cli/io.ts';
import { createProgress, elapsedText, forPeople, type ProgressMode } from '../../src/cli/progress.ts';
import { readPrompt } from '../../src/cli/prompt.ts';
import { openRequestRecord } from '../../src/cli/request-record.ts';
import { endedBy, newRun, noteEvent } from '../../src/cli/run-events.ts';
import { rememberedSignals, type StopSignal, type StopSignals } from '../../src/cli/signals.ts';
import { watchForStop } from '../../src/cli/stop.ts';
import { tell } from '../../src/cli/tell.ts';
import { readTimeout } from '../../src/cli/values.ts';
import { AttemptError, ERROR_CODES } from '../../src/errors.ts';
import { FakeClock } from '../wire/fakes/clock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-parts-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

class Screen implements OutputStream {
  readonly isTTY: boolean;
  readonly columns: number;
  text = '';
  onError: (error: NodeJS.ErrnoException) => void = () => undefined;

  constructor(isTTY: boolean, columns = 40) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): boolean {
    this.text += text;
    return true;
  }

  on(_event: 'error', listener: (error: NodeJS.ErrnoException) => void): void {
    this.onError = listener;
  }
}

function ioOf(env: Record<string, string> = {}, stdin: CliIo['stdin'] = Readable.from([])): CliIo {
  return {
    env: { HOME: folder, ...env },
    cwd: path.join(folder, 'work'),
    stdin,
    stdout: new Screen(false),
    stderr: new Screen(false),
  };
}

describe('exit codes', () => {
  it('are these and no others', () => {
    expect(EXIT).toEqual({ ok: 0, failed: 1, usage: 2, timeout: 3, noSession: 4, denied: 5, aborted: 130 });
  });

  it('of error codes: whatever is not named here is 1', () => {
    const byExit: Record<number, string[]> = {};
    for (const code of ERROR_CODES) byExit[exitOfCode(code)] = [...(byExit[exitOfCode(code)] ?? []), code];
    expect({ ...byExit, 1: undefined }).toEqual({
      1: undefined,
      2: [
        'usage',
        'prompt_empty',
        'prompt_too_large',
        'engine_not_found',
        'engine_invalid',
        'engine_requirements',
        'hooks_invalid',
        'tools_invalid',
        'session_not_a_file',
        'session_unreadable',
        'session_invalid',
      ],
      3: ['budget_execution', 'budget_compact'],
      4: ['session_not_found'],
      130: ['aborted'],
    });
  });

  const result = (fields: Partial<AttemptResult>): AttemptResult => ({
    ...endedBy(new Error('x'), newRun()),
    attemptId: 'a',
    sessionId: 's',
    ...fields,
  });
  const error = (code: string): { code: string; message: string } => ({ code, message: '' });
  it.each([
    ['completed', result({ outcome: 'completed' }), 0],
    ['completed with a denied approval', result({ outcome: 'completed', deniedApprovals: ['command'] }), 0],
    ['yielded', result({ outcome: 'yielded' }), 0],
    ['aborted', result({ outcome: 'aborted' }), 130],
    ['failed', result({ error: error('turn_failed') }), 1],
    [
      'failed after a denied approval, for another reason',
      result({ error: error('turn_failed'), deniedApprovals: ['command'] }),
      1,
    ],
    ['ended by a denied approval', result({ error: error('interrupted_elsewhere'), deniedApprovals: ['command'] }), 5],
    ['interrupted elsewhere', result({ error: error('interrupted_elsewhere') }), 1],
    ['out of time', result({ error: error('budget_execution') }), 3],
    ['busy', result({ error: error('session_busy') }), 1],
  ])('of an attempt that is %s', (_, settled, exit) => {
    expect(exitOfResult(settled)).toBe(exit);
  });
});

describe('settings', () => {
  const work = (): string => path.join(folder, 'work');
  beforeEach(async () => {
    await mkdir(path.join(folder, '.codex-attempt'));
    await mkdir(work());
  });
  const user = (fields: object): Promise<void> =>
    writeFile(path.join(folder, '.codex-attempt', 'config.json'), JSON.stringify(fields));
  const project = (fields: object): Promise<void> =>
    writeFile(path.join(work(), '.codex-attemptrc.json'), JSON.stringify(fields));

  it('defaults', async () => {
    expect(await loadSettings(ioOf(), {}, work())).toEqual({
      home: path.join(folder, '.codex-attempt'),
      hooks: [],
      tools: [],
      logLevel: 'silent',
    });
  });

  it('flags before environment before project file before user file', async () => {
    await user({ model: 'user', tokenBudget: 1, timeout: '1m', logLevel: 'error' });
    expect(await loadSettings(ioOf(), {}, work())).toMatchObject({ model: 'user', tokenBudget: 1, timeout: 60_000 });
    await project({ model: 'project', tokenBudget: 2, timeout: 2 });
    expect(await loadSettings(ioOf(), {}, work())).toMatchObject({
      model: 'project',
      tokenBudget: 2,
      timeout: 2_000,
      logLevel: 'error',
    });
    const env = { CODEX_ATTEMPT_MODEL: 'env', CODEX_ATTEMPT_LOG: 'warn' };
    expect(await loadSettings(ioOf(env), {}, work())).toMatchObject({ model: 'env', tokenBudget: 2, logLevel: 'warn' });
    const flags = { model: 'flag', 'token-budget': '3', timeout: '0', 'log-level': 'debug' };
    expect(await loadSettings(ioOf(env), flags, work())).toMatchObject({
      model: 'flag',
      tokenBudget: 3,
      timeout: 0,
      logLevel: 'debug',
    });
  });

  it('paths start from where they were written', async () => {
    await user({ engine: './e.mjs', hooks: ['./h.mjs'], codexPath: 'bin/codex' });
    const home = path.join(folder, '.codex-attempt');
    expect(await loadSettings(ioOf(), {}, work())).toMatchObject({
      engine: { spec: './e.mjs', base: home },
      hooks: [{ spec: './h.mjs', base: home }],
      codexPath: path.join(home, 'bin/codex'),
    });
    const env = { CODEX_ATTEMPT_ENGINE: './f.mjs', CODEX_PATH: 'codex' };
    expect(await loadSettings(ioOf(env), {}, work())).toMatchObject({
      engine: { spec: './f.mjs', base: work() },
      codexPath: 'codex',
    });
  });

  it.each([{}, { HOME: '' }, { HOME: 'relative' }])('without a home folder (%j) there is none', async (env) => {
    const io = { ...ioOf(), env };
    expect((await loadSettings(io, {}, work())).home).toBeNull();
    expect((await loadSettings({ ...io, env: { ...env, CODEX_ATTEMPT_HOME: '/h' } }, {}, work())).home).toBe('/h');
  });

  it.each(['[1]', ' [1]', '"x"', '5', 'null', 'true'])('engine configuration %j is refused', async (config) => {
    const refused = loadSettings(ioOf(), { engine: 'example', 'engine-config': config }, work());
    await expect(refused).rejects.toMatchObject({
      code: 'usage',
      message: '--engine-config must hold a JSON object, {…}',
    });
  });

  it('engine configuration needs an engine, wherever that is named', async () => {
    const flags = { 'engine-config': '{}' };
    await expect(loadSettings(ioOf(), flags, work())).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('--engine-config needs an engine'),
    });
    const io = ioOf({ CODEX_ATTEMPT_ENGINE: 'example' });
    expect(await loadSettings(io, flags, work())).toMatchObject({ engineConfig: {} });
  });

  it('an empty variable is none', async () => {
    expect(await loadSettings(ioOf({ CODEX_ATTEMPT_MODEL: '', CODEX_PATH: '' }), {}, work())).toEqual({
      home: path.join(folder, '.codex-attempt'),
      hooks: [],
      tools: [],
      logLevel: 'silent',
    });
  });

  it.each(Object.entries(CONFIG_KEYS).filter(([, where]) => where === 'user'))(
    'a project file may not set %s',
    async (key) => {
      await project({ [key]: 'x' });
      await expect(loadSettings(ioOf(), {}, work())).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringContaining(`.codex-attemptrc.json may not set "${key}"`),
      });
    },
  );

  it.each([
    ['{', 'is not JSON'],
    ['[]', 'must hold a JSON object'],
    ['{"modle":"x"}', 'unknown key "modle"'],
    ['{"model":7}', 'model in '],
    ['{"logLevel":"loud"}', 'logLevel in '],
    ['{"tokenBudget":0}', 'tokenBudget in '],
  ])('a file %s is refused by name', async (text, problem) => {
    const file = path.join(folder, '.codex-attempt', 'config.json');
    await writeFile(file, text);
    const refused = await loadSettings(ioOf(), {}, work()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'usage', message: expect.stringContaining(file) });
    expect(refused).toMatchObject({ message: expect.stringContaining(problem) });
  });

  it.each([
    ['90', 90_000],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['48h', 172_800_000],
    ['0', 0],
  ])('a timeout of %s', (text, ms) => {
    expect(readTimeout(text, '--timeout')).toBe(ms);
  });

  it.each(['', '-1', '5d', 'soon', '1e3', 'Infinity', '9'.repeat(20)])('no timeout: %j', (text) => {
    expect(() => readTimeout(text, '--timeout')).toThrow('--timeout is');
  });
});

describe('the prompt', () => {
  const never = new AbortController().signal;

  it('on the command line wins and stdin is not read', async () => {
    const stdin = Readable.from(['not this']);
    expect(await readPrompt(ioOf({}, stdin), [' this '], never)).toBe(' this ');
    expect(stdin.readableDidRead).toBe(false);
  });

  it.each([[['-']], [[]]])('words %j: stdin is read to its end, as it is', async (words) => {
    // The last character comes in two chunks.
    const [head, tail] = [Buffer.from('two\nlines ').subarray(0), Buffer.from('é\n')];
    const stdin = Readable.from([Buffer.concat([head, tail.subarray(0, 1)]), tail.subarray(1)]);
    expect(await readPrompt(ioOf({}, stdin), words, never)).toBe('two\nlines é\n');
  });

  it('none on a terminal is a usage error', async () => {
    const stdin = Object.assign(Readable.from(['x']), { isTTY: true });
    await expect(readPrompt(ioOf({}, stdin), [], never)).rejects.toMatchObject({ code: 'usage' });
    expect(stdin.readableDidRead).toBe(false);
  });

  it.each([
    ['bytes that are none', [Buffer.from([0x68, 0xff, 0x69])]],
    ['a character that is cut off at the end', [Buffer.from('é').subarray(0, 1)]],
    ['another encoding', [Buffer.from('hello', 'utf16le').subarray(0, 3), Buffer.from([0xd8])]],
  ])('that is not UTF-8 is a usage error: %s', async (_, chunks) => {
    const refused = readPrompt(ioOf({}, Readable.from(chunks)), ['-'], never);
    await expect(refused).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('not UTF-8') });
  });

  it.each([
    ['on the command line', ['a\0b'], []],
    ['on stdin', [], [Buffer.from('a\0b')]],
  ])('with a NUL %s is a usage error', async (_, words, chunks) => {
    const refused = readPrompt(ioOf({}, Readable.from(chunks)), words, never);
    await expect(refused).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('NUL') });
  });

  it('being read can be stopped', async () => {
    const controller = new AbortController();
    const stdin = new Readable({ read: () => controller.abort() });
    await expect(readPrompt(ioOf({}, stdin), ['-'], controller.signal)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('counts characters, not code units', async () => {
    const most = '😀'.repeat(1_048_576);
    expect(await readPrompt(ioOf(), [most], never)).toBe(most);
    await expect(readPrompt(ioOf(), [`${most}x`], never)).rejects.toMatchObject({
      code: 'prompt_too_large',
      data: { limit: 1_048_576, actual: 1_048_577 },
    });
  });
});

describe('progress', () => {
  function start(
    mode: ProgressMode,
    options: { tty?: boolean; columns?: number; quiet?: boolean; env?: Record<string, string> } = {},
  ) {
    const [stderr, clock] = [new Screen(options.tty ?? false, options.columns), new FakeClock()];
    const env = options.env ?? { NO_COLOR: '1' };
    const progress = createProgress({ stderr, env, mode, quiet: options.quiet ?? false, clock });
    return { stderr, clock, progress };
  }

  it('on a terminal is one line of state, elapsed time and tokens, drawn anew', () => {
    const { stderr, clock, progress } = start('status', { tty: true });
    progress.state('bootstrap');
    clock.advance(1_000);
    progress.state('turning');
    clock.advance(1_000);
    progress.tokens(257);
    progress.warn('slow\u001b[31m\nengine');
    progress.end();
    expect(stderr.text.split('\r\u001b[2K')).toEqual([
      '',
      'bootstrap · 0s',
      'bootstrap · 1s',
      'turning · 1s',
      'turning · 2s',
      'turning · 2s · 257 tokens',
      'warning: slow engine\n',
      'turning · 2s · 257 tokens',
      '',
    ]);
    expect(clock.pending).toBe(0);
  });

  it('is whole on a terminal that does not know its width', () => {
    const { stderr, progress } = start('status', { tty: true, columns: 0 });
    progress.state('bootstrap');
    progress.end();
    expect(stderr.text.split('\r\u001b[2K')[1]).toBe('bootstrap · 0s');
  });

  it('never is wider than the terminal', () => {
    const { stderr, progress } = start('status', { tty: true });
    progress.state('x'.repeat(100));
    progress.end();
    expect(stderr.text.split('\r\u001b[2K')[1]).toHaveLength(39);
  });

  it('as lines is one per visit', () => {
    const { stderr, progress } = start('lines');
    for (const state of ['bootstrap', 'bootstrap', 'assembling', 'bootstrap']) progress.state(state);
    progress.end();
    expect(stderr.text).toBe('bootstrap\nassembling\nbootstrap\n');
  });

  it('quiet leaves errors alone', () => {
    const { stderr, progress } = start('none', { quiet: true });
    progress.note('a note');
    progress.warn('a warning');
    progress.error('an error with Bearer abcdef123456');
    expect(stderr.text).toBe('codex-attempt: an error with Bearer [redacted]\n');
  });

  it('has colours on a terminal unless NO_COLOR is set', () => {
    const plain = start('none', { tty: true });
    const coloured = start('none', { tty: true, env: {} });
    const piped = start('none', { env: {} });
    for (const { progress } of [plain, coloured, piped]) progress.error('x');
    expect(plain.stderr.text).toBe('codex-attempt: x\n');
    expect(piped.stderr.text).toBe('codex-attempt: x\n');
    expect(coloured.stderr.text).toBe('\u001b[31mcodex-attempt:\u001b[39m x\n');
  });

  it.each([
    [0, '0s'],
    [59_999, '59s'],
    [125_000, '2m 05s'],
    [3_720_000, '1h 02m'],
  ])('%d ms reads %s', (ms, text) => {
    expect(elapsedText(ms)).toBe(text);
  });

  it('a text for people is one line that steers no terminal', () => {
    expect(forPeople('a\r\n\tb\u0007\u001b[2Jc\u009b31m ')).toBe('a b c');
  });
});

describe('stopping', () => {
  function watch() {
    let signal: (name: StopSignal) => void = () => undefined;
    const calls: string[] = [];
    const onSignals: StopSignals = (listener) => {
      signal = listener;
      return () => calls.push('released');
    };
    const io = ioOf();
    const stop = watchForStop(io, onSignals, () => calls.push('exit'));
    const target = {
      name: 'attempt',
      abort: () => calls.push('abort'),
      kill: () => calls.push('kill'),
      said: (text: string) => calls.push(text),
    };
    return { stop, calls, target, signal: (name: StopSignal) => signal(name), stdout: io.stdout as Screen };
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s once aborts, twice kills and exits', (name) => {
    const { stop, calls, target, signal } = watch();
    stop.attach(target);
    signal(name);
    expect(calls).toEqual([`${name}: stopping the attempt; once more ends it at once`, 'abort']);
    expect([stop.signal.aborted, stop.signalled]).toEqual([true, true]);
    signal('SIGINT');
    expect(calls.slice(2)).toEqual(['kill', 'exit']);
  });

  it('before an attempt is there stops the attempt that comes', () => {
    const { stop, calls, target, signal } = watch();
    signal('SIGINT');
    stop.attach(target);
    expect(calls).toEqual(['abort']);
  });

  it('a reader that went away aborts without a word', () => {
    const { stop, calls, target, stdout } = watch();
    stop.attach(target);
    stdout.onError(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(calls).toEqual(['abort']);
    expect([stop.signal.aborted, stop.signalled, stop.unread]).toEqual([true, false, true]);
  });

  it('a stdout that cannot be written stops nothing, and is named', () => {
    const { stop, calls, target, stdout } = watch();
    stop.attach(target);
    stdout.onError(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
    stdout.onError(Object.assign(new Error('gone'), { code: 'ERR_STREAM_DESTROYED' }));
    expect(calls).toEqual([]);
    expect([stop.signal.aborted, stop.unread, stop.outputError?.message]).toEqual([
      false,
      false,
      'stdout cannot be written: ENOSPC: no space left on device, write',
    ]);
  });

  it('signals that come before anybody listens are told to the first who does', () => {
    let signal: (name: StopSignal) => void = () => undefined;
    const released: string[] = [];
    const signals = rememberedSignals((listener) => {
      signal = listener;
      return () => released.push('released');
    });
    signal('SIGINT');
    const told: StopSignal[] = [];
    const release = signals((name) => told.push(name));
    signal('SIGTERM');
    expect(told).toEqual(['SIGINT', 'SIGTERM']);
    release();
    expect(released).toEqual(['released']);
  });
});

describe('a run that ends without the word of its attempt', () => {
  it('has the shape of an attempt that settled', () => {
    const run = { ...newRun(), sessionFile: '/s.jsonl' };
    expect(endedBy(new AttemptError('codex_no_credentials', 'no key, not even api_key=abcdef'), run)).toEqual({
      type: 'attempt.settled',
      attemptId: null,
      outcome: 'failed',
      states: [],
      text: '',
      sessionFile: '/s.jsonl',
      sessionId: null,
      threadId: null,
      turnId: null,
      usage: null,
      degraded: [],
      finalization: { method: 'none', ok: true, reason: 'not-accepted' },
      maintenance: { ran: false, reason: 'failed-turn' },
      replaySafe: true,
      deniedApprovals: [],
      error: { code: 'codex_no_credentials', message: 'no key, not even api_key=[redacted]' },
    });
  });

  it('tells what is known of an attempt that had begun', () => {
    const run = newRun();
    noteEvent(run, { type: 'attempt.started', attemptId: 'a', sessionId: 's', sessionFile: '/s.jsonl' });
    for (const state of ['bootstrap', 'bootstrap', 'turning', 'turning']) {
      noteEvent(run, { type: 'attempt.state', state, path: state });
    }
    noteEvent(run, { type: 'thread.started', thread_id: 't' });
    expect(endedBy(new AttemptError('aborted', 'twice'), run)).toMatchObject({
      attemptId: 'a',
      sessionId: 's',
      threadId: 't',
      outcome: 'aborted',
      states: ['bootstrap', 'turning', 'aborted'],
      finalization: { method: 'none', ok: false, reason: 'not-finalized' },
      maintenance: { ran: false, reason: 'aborted' },
      replaySafe: false,
      error: { code: 'aborted', message: 'twice' },
    });
  });
});

describe('what a person is told of an attempt', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
  });
  const hear = (event: Parameters<typeof tell>[0]): void =>
    tell(event, false, {
      state: (name) => lines.push(`state ${name}`),
      tokens: (total) => lines.push(`tokens ${total}`),
      note: (text) => lines.push(`note ${text}`),
      warn: (text) => lines.push(`warn ${text}`),
    });
  const call = (fields: object) => ({
    type: 'item.completed' as const,
    item: {
      id: 'i',
      type: 'dynamic_tool_call',
      namespace: null,
      tool: 'look',
      arguments: { key: 'secret' },
      ...fields,
    },
  });

  it('notices and degraded steps are warnings', () => {
    hear({ type: 'attempt.notice', message: 'the engine blocked the event loop' });
    hear({ type: 'attempt.degraded', state: 'assembling', code: 'engine_failed', message: 'it threw' });
    expect(lines).toEqual(['warn the engine blocked the event loop', 'warn assembling: it threw (engine_failed)']);
  });

  it('a tool call that failed is a warning without its arguments; one that did not is none', () => {
    hear(call({ success: true }));
    hear(call({ success: null }));
    hear(call({ success: false }));
    hear(call({ success: false, namespace: 'my' }));
    expect(lines).toEqual([
      'warn the tool look failed; the model was told why',
      'warn the tool my.look failed; the model was told why',
    ]);
  });
});

describe('the record of requests', () => {
  it('that cannot be written ends with one line and throws nothing', () => {
    const told: string[] = [];
    const record = openRequestRecord('/dev/full', (message) => told.push(message));
    record.add({});
    record.add({});
    record.close();
    expect(told).toEqual([
      '--record-requests: /dev/full cannot be written, no more requests are recorded: ENOSPC: no space left on device, write',
    ]);
  });
});

describe('the folder of the caller', () => {
  const npm = { npm_lifecycle_event: 'codex-attempt', INIT_CWD: '/caller', npm_package_json: '/package/package.json' };
  it.each([
    ['npm run codex-attempt', npm, '/package', '/caller'],
    ['another script', { ...npm, npm_lifecycle_event: 'start' }, '/package', '/package'],
    ['a process that such a run starts elsewhere', npm, '/elsewhere', '/elsewhere'],
    ['no npm', { INIT_CWD: '/caller' }, '/here', '/here'],
  ])('%s', (_, env, cwd, expected) => {
    expect(callerFolder(env, cwd)).toBe(expected);
  });
});
