import { getEventListeners } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RpcError } from '../../src/codex/errors.ts';
import type { JsonObject, MalformedLine } from '../../src/codex/jsonl.ts';
import { DEFAULT_REQUEST_TIMEOUT_MS, MAX_REQUESTS_IN_FLIGHT, RpcPeer } from '../../src/codex/rpc.ts';
import { AttemptError } from '../../src/errors.ts';
import type { ServerNotification, ServerRequest } from '../../src/ports.ts';
import { FakeClock } from './fakes/clock.ts';
import { MemoryLogger } from './fakes/logger.ts';

function setUp({ output = new PassThrough() as Writable } = {}) {
  const input = new PassThrough();
  const clock = new FakeClock();
  const logger = new MemoryLogger();
  const malformed: MalformedLine[] = [];
  const broken: true[] = [];
  let text = '';
  if (output instanceof PassThrough) {
    output.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  const peer = new RpcPeer({
    input,
    output,
    clock,
    logger,
    redact: (message) => message.replaceAll('SECRET', '[redacted]'),
    describeEnd: () => 'it ended',
    onMalformed: (line) => malformed.push(line),
    onBroken: () => broken.push(true),
  });
  return {
    peer,
    input,
    output,
    clock,
    logger,
    malformed,
    broken,
    /** What the server got so far. */
    async sent(): Promise<JsonObject[]> {
      await setImmediate();
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): JsonObject => JSON.parse(line));
    },
    /** The server writes; resolves when it was taken in. */
    async receive(...messages: readonly (JsonObject | string)[]): Promise<void> {
      input.write(messages.map((m) => `${typeof m === 'string' ? m : JSON.stringify(m)}\n`).join(''));
      await setImmediate();
    },
  };
}

/** What a promise came to, as a value. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: JSON.parse(JSON.stringify(error)) }),
  );
}

function attemptError(code: string, message: string, data: JsonObject = {}): unknown {
  return { error: { name: 'AttemptError', code, message, data } };
}

const EXITED = (method: string) =>
  attemptError('app_server_exited', `${method} was not answered: it ended`, { method });

describe('requests', () => {
  it('count ids from 1, always carry params and have no jsonrpc member', async () => {
    const { peer, sent, receive } = setUp();
    const first = peer.request('a/b', {});
    const second = peer.request('c/d', { text: 'x\u2028y' });
    expect(await sent()).toEqual([
      { id: 1, method: 'a/b', params: {} },
      { id: 2, method: 'c/d', params: { text: 'x\u2028y' } },
    ]);
    await receive({ id: 2, result: { two: 2 } }, { id: 1, result: null });
    expect(await Promise.all([first, second])).toEqual([null, { two: 2 }]);
  });

  it('reject with the refusal as the server wrote it', async () => {
    const { peer, receive } = setUp();
    const request = peer.request('turn/steer', {}).catch((error: unknown) => error);
    await receive({ id: 1, error: { code: -32600, message: 'cannot steer', data: { codexErrorInfo: 'x' } } });
    expect(await request).toBeInstanceOf(RpcError);
    expect({ error: JSON.parse(JSON.stringify(await request)) }).toEqual({
      error: {
        name: 'RpcError',
        code: -32600,
        message: 'cannot steer',
        data: { codexErrorInfo: 'x' },
        method: 'turn/steer',
      },
    });
  });

  it.each([[null], ['no'], [7], [[]], [{}], [{ code: 'x', message: 1 }]])('take %j for a refusal', async (error) => {
    const { peer, receive } = setUp();
    const request = outcome(peer.request('m', {}));
    await receive({ id: 1, error });
    expect(await request).toEqual({
      error: { name: 'RpcError', code: -32603, message: 'refused without a message', method: 'm' },
    });
  });

  it('time out by default and by their own measure, each with its own error, and leave no timer', async () => {
    const { peer, clock } = setUp();
    const usual = outcome(peer.request('slow', {}));
    const short = outcome(peer.request('short', {}, { timeoutMs: 50 }));
    const endless = outcome(peer.request('endless', {}, { timeoutMs: Infinity }));
    clock.advance(50);
    expect(await short).toEqual(
      attemptError('request_timeout', 'codex app-server did not answer short within 50 ms', {
        method: 'short',
        timeoutMs: 50,
      }),
    );
    clock.advance(DEFAULT_REQUEST_TIMEOUT_MS - 51);
    expect(clock.pending).toBe(2);
    clock.advance(1);
    expect(await usual).toEqual(
      attemptError('request_timeout', 'codex app-server did not answer slow within 30000 ms', {
        method: 'slow',
        timeoutMs: 30_000,
      }),
    );
    peer.end();
    expect(await endless).toEqual(EXITED('endless'));
    expect(clock.pending).toBe(0);
  });

  it('ignore an answer that comes after the time-out, twice or for nobody', async () => {
    const { peer, clock, receive, logger } = setUp();
    const late = outcome(peer.request('late', {}, { timeoutMs: 5 }));
    clock.advance(5);
    const next = peer.request('next', {});
    await receive(
      { id: 1, result: 'late' },
      { id: 2, result: 'ok' },
      { id: 2, result: 'again' },
      { id: 99, result: 0 },
    );
    expect(await next).toBe('ok');
    expect(await late).toMatchObject({ error: { code: 'request_timeout' } });
    expect(logger.lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['debug', { id: 1 }],
      ['debug', { id: 2 }],
      ['debug', { id: 99 }],
    ]);
  });

  it('are given up by their signal, before and while they are under way, and leave no listener on it', async () => {
    const { peer, clock, sent, receive } = setUp();
    const controller = new AbortController();
    const { signal } = controller;
    const answered = peer.request('answered', {}, { signal });
    const open = peer.request('open', {}, { signal });
    await receive({ id: 1, result: 1 });
    expect(await answered).toBe(1);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort(new Error('why'));
    await expect(open).rejects.toMatchObject({ code: 'aborted', cause: new Error('why') });
    await expect(peer.request('never', {}, { signal })).rejects.toMatchObject({
      code: 'aborted',
      message: 'never was given up',
    });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(clock.pending).toBe(0);
    expect((await sent()).map((message) => message['method'])).toEqual(['answered', 'open']);
  });

  it('that JSON cannot say reject and are not sent', async () => {
    const { peer, sent, clock } = setUp();
    await expect(peer.request('m', { n: 1n })).rejects.toBeInstanceOf(TypeError);
    expect(await sent()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('over the limit wait in order, and one that ends in any way makes room for the next', async () => {
    const { peer, sent, receive, clock } = setUp();
    const controller = new AbortController();
    const all = Array.from({ length: MAX_REQUESTS_IN_FLIGHT + 6 }, (_, i) =>
      outcome(peer.request(`m${i + 1}`, {}, i === 1 ? { timeoutMs: 5 } : i === 2 ? { signal: controller.signal } : {})),
    );
    const gaveUp = new AbortController();
    const neverSent = outcome(peer.request('never', {}, { signal: gaveUp.signal }));
    const ids = async () => (await sent()).map((message) => message['id']);
    const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);
    expect(await ids()).toEqual(upTo(100));
    await receive({ id: 1, result: 'one' });
    expect(await ids()).toEqual(upTo(101));
    clock.advance(5);
    expect(await ids()).toEqual(upTo(102));
    controller.abort();
    expect(await ids()).toEqual(upTo(103));
    gaveUp.abort();
    await receive({ id: 4, error: { code: -32001, message: 'Server overloaded; retry later.' } });
    expect(await ids()).toEqual(upTo(104));
    await receive(
      ...upTo(106)
        .slice(4)
        .map((id) => ({ id, result: id })),
    );
    await receive(...[105, 106].map((id) => ({ id, result: id })));
    expect(await ids()).toEqual(upTo(106));
    expect(await neverSent).toMatchObject({ error: { code: 'aborted' } });
    const results = await Promise.all(all);
    expect(results[0]).toEqual({ value: 'one' });
    expect(results.slice(4)).toEqual(
      upTo(106)
        .slice(4)
        .map((value) => ({ value })),
    );
  });

  it('wait in order while the server does not read, and time out meanwhile', async () => {
    const taken: { line: string; done: () => void }[] = [];
    const output = new Writable({
      highWaterMark: 10,
      write: (chunk: Buffer, _encoding, done) => void taken.push({ line: chunk.toString(), done }),
    });
    const { peer, clock } = setUp({ output });
    const requests = ['a', 'b', 'c'].map((method, i) =>
      outcome(peer.request(method, { big: 'x'.repeat(100) }, i === 1 ? { timeoutMs: 5 } : {})),
    );
    clock.advance(5);
    expect(await requests[1]).toMatchObject({ error: { code: 'request_timeout' } });
    const methods = () => taken.map(({ line }) => JSON.parse(line).method);
    expect(methods()).toEqual(['a']);
    expect(output.writableLength).toBeLessThan(200);
    taken[0]?.done();
    await setImmediate();
    expect(methods()).toEqual(['a', 'c']);
  });
});

describe('the end', () => {
  const ends: Record<string, (io: ReturnType<typeof setUp>) => void> = {
    'the stream ends': ({ input }) => input.end(),
    'the stream breaks': ({ input }) => input.destroy(new Error('ECONNRESET')),
    'the stream is destroyed': ({ input }) => input.destroy(),
    'the owner says so': ({ peer }) => peer.end(),
  };

  it.each(Object.keys(ends))('rejects all requests, sent and waiting, at once when %s', async (how) => {
    const io = setUp();
    const requests = Array.from({ length: MAX_REQUESTS_IN_FLIGHT + 3 }, () => outcome(io.peer.request('m', {})));
    ends[how]?.(io);
    expect(await Promise.all(requests)).toEqual(requests.map(() => EXITED('m')));
    expect(await outcome(io.peer.request('later', {}))).toEqual(EXITED('later'));
    await setImmediate();
    expect([io.clock.pending, io.peer.open, io.broken]).toEqual([0, false, [true]]);
  });

  it('takes what the server wrote last, also without a newline', async () => {
    const { peer, input } = setUp();
    const seen: ServerNotification[] = [];
    peer.onNotification((notification) => seen.push(notification));
    const request = peer.request('m', {});
    input.end('{"method":"last/words","params":{"a":1}}\n{"id":1,"result":"answer"}');
    expect(await request).toBe('answer');
    expect(seen).toEqual([{ method: 'last/words', params: { a: 1 } }]);
  });

  it('when writing fails refuses what is not sent, and still takes answers to what is', async () => {
    const { peer, input, output, broken, logger } = setUp();
    const sent = peer.request('sent', {});
    output.destroy(new Error('write EPIPE SECRET'));
    await setImmediate();
    expect(await outcome(peer.request('late', {}))).toEqual(EXITED('late'));
    expect([peer.open, broken]).toEqual([false, [true]]);
    peer.notify('dropped');
    input.write('{"id":1,"result":"answered before"}\n');
    expect(await sent).toBe('answered before');
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'writing to codex app-server failed',
        fields: { error: 'write EPIPE [redacted]' },
      },
    ]);
  });

  it('asked for closes the input after what is written, refuses the rest and is not a break', async () => {
    const { peer, input, output, broken } = setUp();
    const all = Array.from({ length: MAX_REQUESTS_IN_FLIGHT + 1 }, (_, i) => outcome(peer.request(`m${i + 1}`, {})));
    peer.finish();
    peer.finish();
    expect(await all[MAX_REQUESTS_IN_FLIGHT]).toEqual(EXITED('m101'));
    expect(output.writableEnded).toBe(true);
    input.end('{"id":1,"result":1}\n');
    expect(await all[0]).toEqual({ value: 1 });
    expect(await all[1]).toEqual(EXITED('m2'));
    expect(broken).toEqual([]);
  });
});

describe('notifications', () => {
  it('reach every listener in the order of arrival, known or not, with params or not', async () => {
    const { peer, receive } = setUp();
    const seen: unknown[] = [];
    const off = peer.onNotification((n) => seen.push(['a', n]));
    peer.onNotification((n) => seen.push(['b', n]));
    await receive({ method: 'x/y', params: { text: 'é' }, emittedAtMs: 1 }, { method: 'no/params' });
    off();
    off();
    await receive({ method: 'z', params: [] });
    const [first, second] = [
      { method: 'x/y', params: { text: 'é' } },
      { method: 'no/params', params: {} },
    ];
    expect(seen).toEqual([
      ['a', first],
      ['b', first],
      ['a', second],
      ['b', second],
      ['b', { method: 'z', params: {} }],
    ]);
  });

  it('reach the others when a listener throws, adds or removes listeners', async () => {
    const { peer, receive, logger } = setUp();
    const seen: string[] = [];
    peer.onNotification(() => {
      seen.push('throws');
      throw new Error('broken SECRET');
    });
    const off = peer.onNotification(() => {
      seen.push('once');
      off();
      peer.onNotification(() => seen.push('added'));
    });
    peer.onNotification(() => seen.push('last'));
    await receive({ method: 'a' });
    expect(seen.splice(0)).toEqual(['throws', 'once', 'last']);
    await receive({ method: 'b' });
    expect(seen).toEqual(['throws', 'last', 'added']);
    expect(logger.lines[0]).toEqual({
      level: 'warn',
      message: 'a listener failed on a',
      fields: { error: 'broken [redacted]' },
    });
  });

  it('of ours always carry params', async () => {
    const { peer, sent } = setUp();
    peer.notify('initialized');
    expect(await sent()).toEqual([{ method: 'initialized', params: {} }]);
  });
});

describe('requests of the server', () => {
  it.each([0, 1, 'text', ''])('with id %j are answered under that id', async (id) => {
    const { peer, receive, sent } = setUp();
    const seen: ServerRequest[] = [];
    peer.onServerRequest((request) => {
      seen.push(request);
      return Promise.resolve({ ok: true });
    });
    await receive({ id, method: 'item/tool/call', params: { q: 1 } });
    expect(seen).toEqual([{ id, method: 'item/tool/call', params: { q: 1 } }]);
    expect(await sent()).toEqual([{ id, result: { ok: true } }]);
  });

  it('are offered newest handler first, and the first that takes one ends the round', async () => {
    const { peer, receive, sent } = setUp();
    const asked: string[] = [];
    const handler = (name: string, takes: string) => (request: ServerRequest) => {
      asked.push(name);
      return request.method === takes ? Promise.resolve({ name }) : undefined;
    };
    peer.onServerRequest(handler('old', 'both'));
    peer.onServerRequest(handler('new', 'both'));
    const off = peer.onServerRequest(handler('newest', 'mine'));
    await receive({ id: 0, method: 'both' });
    off();
    await receive({ id: 1, method: 'other' });
    expect(asked).toEqual(['newest', 'new', 'new', 'old']);
    expect(await sent()).toEqual([
      { id: 0, result: { name: 'new' } },
      { id: 1, error: { code: -32601, message: 'other is not handled by this client' } },
    ]);
  });

  it('run beside each other and are answered as they finish', async () => {
    const { peer, receive, sent } = setUp();
    const open = new Map<unknown, (value: unknown) => void>();
    peer.onServerRequest(({ id }) => new Promise((resolve) => open.set(id, resolve)));
    await receive({ id: 0, method: 'm' }, { id: 1, method: 'm' });
    open.get(1)?.('one');
    await setImmediate();
    open.get(0)?.('zero');
    expect(await sent()).toEqual([
      { id: 1, result: 'one' },
      { id: 0, result: 'zero' },
    ]);
  });

  const failures: Record<string, { handler: () => Promise<unknown>; error: JsonObject }> = {
    rejects: {
      handler: () => Promise.reject(new Error('no SECRET')),
      error: { code: -32603, message: 'no [redacted]' },
    },
    throws: {
      handler: () => {
        throw new AttemptError('tools_failed', 'at once');
      },
      error: { code: -32603, message: 'at once' },
    },
    'rejects with an error of the wire': {
      handler: () => Promise.reject(new RpcError({ code: -32600, message: 'bad', method: 'm' })),
      error: { code: -32600, message: 'bad' },
    },
    'rejects with something else': { handler: () => Promise.reject('why'), error: { code: -32603, message: 'why' } },
    'gives what JSON cannot say': {
      handler: () => Promise.resolve(1n),
      error: { code: -32603, message: expect.stringContaining('BigInt') },
    },
  };

  it.each(Object.keys(failures))('whose handler %s are answered by an error', async (how) => {
    const { peer, receive, sent } = setUp();
    const failure = failures[how];
    peer.onServerRequest(() => failure?.handler());
    await receive({ id: 0, method: 'm' });
    expect(await sent()).toEqual([{ id: 0, error: failure?.error }]);
  });

  it('never get an answer without a result, for that is none to the server', async () => {
    const { peer, receive, sent } = setUp();
    peer.onServerRequest(() => Promise.resolve(undefined));
    await receive({ id: 0, method: 'm' });
    expect(await sent()).toEqual([{ id: 0, result: {} }]);
  });

  it('whose answer comes after the end are dropped', async () => {
    const { peer, receive, sent } = setUp();
    let answer = (_: unknown): void => {};
    peer.onServerRequest(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    await receive({ id: 0, method: 'm' });
    peer.end();
    answer({});
    expect(await sent()).toEqual([]);
  });
});

describe('what is no message', () => {
  it('is reported or logged, and the next message is taken', async () => {
    const { peer, receive, malformed, logger } = setUp();
    const request = peer.request('m', {});
    await receive('garbage', '[]', '', { id: 1 }, { id: null, error: {} }, { hello: 1 }, { id: 1, result: 'ok' });
    expect(await request).toBe('ok');
    expect(malformed.map(({ line }) => line)).toEqual(['garbage', '[]']);
    expect(logger.lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { keys: ['id'] }],
      ['warn', { keys: ['id', 'error'] }],
      ['warn', { keys: ['hello'] }],
    ]);
  });
});
