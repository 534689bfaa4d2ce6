import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadHooks } from '../../src/hooks/load.ts';
import { HOOK_NAMES, HookRegistry } from '../../src/hooks/registry.ts';
import type { HookContext, MessageWriteEvent, PromptBuildEvent } from '../../src/ports.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';

const EVENT: PromptBuildEvent = {
  prompt: 'the prompt',
  developerInstructions: 'be brief',
  messages: [{ role: 'user', content: 'earlier', timestamp: 1 }],
};
const CONTEXT: HookContext = {
  attemptId: 'attempt-1',
  sessionId: 's',
  sessionKey: 's',
  cwd: '/w',
  modelId: 'm',
  provider: 'openai',
};
const open = () => new AbortController().signal;
const registry = () => new HookRegistry((text) => text.replaceAll('hunter2', '[redacted]'));
const build = (hooks: HookRegistry, signal = open()) => hooks.beforePromptBuild(EVENT, CONTEXT, signal);
const never = () => new Promise<never>(() => {});

describe('before_prompt_build', () => {
  it('gives nothing when nobody is registered', async () => {
    const hooks = registry();
    expect(HOOK_NAMES.map((name) => hooks.has(name))).toEqual(HOOK_NAMES.map(() => false));
    expect(await build(hooks)).toEqual({ value: {}, failures: [] });
  });

  it('puts later prepends before earlier ones and later appends after', async () => {
    const hooks = registry();
    for (const id of ['1', '2', '3']) {
      hooks.register('before_prompt_build', () => ({
        prependContext: `p${id}`,
        appendContext: `a${id}`,
        prependSystemContext: `ps${id}`,
        appendSystemContext: `as${id}`,
      }));
    }
    expect(await build(hooks)).toEqual({
      value: {
        prependContext: 'p3\n\np2\n\np1',
        appendContext: 'a1\n\na2\n\na3',
        prependSystemContext: 'ps3\n\nps2\n\nps1',
        appendSystemContext: 'as1\n\nas2\n\nas3',
      },
      failures: [],
    });
  });

  it('runs higher priorities first, equal ones in the order of registration, one after the other', async () => {
    const hooks = registry();
    const order: string[] = [];
    const add = (id: string, priority?: number) =>
      hooks.register(
        'before_prompt_build',
        async () => {
          order.push(`${id} begins`);
          await Promise.resolve();
          order.push(`${id} ends`);
        },
        priority === undefined ? {} : { priority },
      );
    add('a');
    add('b', -1);
    add('c', 10);
    add('d', 0);
    add('e', 10);
    await build(hooks);
    expect(order).toEqual(['c', 'e', 'a', 'd', 'b'].flatMap((id) => [`${id} begins`, `${id} ends`]));
  });

  it.each([[undefined], [null], [{}], [{ prependContext: undefined, appendContext: '' }], [{ other: 5 }]])(
    'takes %j as nothing to add',
    async (answer) => {
      const hooks = registry();
      hooks.register('before_prompt_build', () => answer);
      expect(await build(hooks)).toEqual({ value: {}, failures: [] });
    },
  );

  it.each<[unknown, string]>([
    ['text', 'returned something that is not an object'],
    [7, 'returned something that is not an object'],
    [['x'], 'returned something that is not an object'],
    [{ prependContext: 'good', appendContext: 7 }, 'returned a appendContext that is not a string'],
    [{ prependSystemContext: {} }, 'returned a prependSystemContext that is not a string'],
  ])('takes nothing of %j and says so', async (answer, message) => {
    const hooks = registry();
    hooks.register('before_prompt_build', () => answer, { source: 'plug' });
    hooks.register('before_prompt_build', () => ({ prependContext: 'kept' }));
    expect(await build(hooks)).toEqual({
      value: { prependContext: 'kept' },
      failures: [{ name: 'before_prompt_build', message: `plug: ${message}` }],
    });
  });

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no hunter2');
      },
      'no [redacted]',
    ],
    ['rejects', () => Promise.reject(new Error('no hunter2')), 'no [redacted]'],
    ['throws a text', () => Promise.reject('no hunter2'), 'no [redacted]'],
    [
      'answers with a trap',
      () =>
        Object.defineProperty({}, 'prependContext', {
          get() {
            throw new Error('trap');
          },
        }),
      'trap',
    ],
  ])('one that %s costs its own part only', async (_name, handler, message) => {
    const hooks = registry();
    hooks.register('before_prompt_build', () => ({ appendContext: 'one' }));
    hooks.register('before_prompt_build', handler);
    hooks.register('before_prompt_build', () => ({ appendContext: 'three' }));
    expect(await build(hooks)).toEqual({
      value: { appendContext: 'one\n\nthree' },
      failures: [{ name: 'before_prompt_build', message }],
    });
  });

  it('one that hangs is left behind when the signal aborts; what was there is kept', async () => {
    const hooks = registry();
    const stop = new AbortController();
    let ran = false;
    hooks.register('before_prompt_build', () => ({ appendContext: 'one' }));
    hooks.register('before_prompt_build', () => {
      queueMicrotask(() => stop.abort());
      return never();
    });
    hooks.register('before_prompt_build', () => {
      ran = true;
    });
    expect(await build(hooks, stop.signal)).toEqual({
      value: { appendContext: 'one' },
      failures: [
        { name: 'before_prompt_build', message: 'did not answer in time' },
        { name: 'before_prompt_build', message: 'was not run: no time was left' },
      ],
    });
    expect(ran).toBe(false);
  });

  it('one that aborts and hangs, and one that is never begun, hold nobody up', async () => {
    const hooks = registry();
    const stop = new AbortController();
    hooks.register('before_prompt_build', () => {
      stop.abort();
      return never();
    });
    expect((await build(hooks, stop.signal)).failures).toHaveLength(1);
    expect((await build(hooks, stop.signal)).failures).toHaveLength(1);
  });

  it('hooks see copies that they cannot change', async () => {
    const hooks = registry();
    const seen: unknown[] = [];
    hooks.register('before_prompt_build', (event, context) => {
      seen.push(event, context);
      (event as PromptBuildEvent & { messages: unknown[] }).messages.push('x');
    });
    hooks.register('before_prompt_build', (event) => {
      const [first] = (event as PromptBuildEvent).messages;
      if (first !== undefined) first.timestamp = 99;
    });
    const { failures } = await build(hooks);
    expect(failures).toHaveLength(2);
    expect(seen).toEqual([EVENT, CONTEXT]);
    expect(seen[0]).not.toBe(EVENT);
    expect(EVENT.messages).toEqual([{ role: 'user', content: 'earlier', timestamp: 1 }]);
    expect(Object.isFrozen(EVENT)).toBe(false);
  });
});

describe('before_message_write', () => {
  const MESSAGE: AgentMessage = { role: 'user', content: 'one', timestamp: 1, idempotencyKey: 'key' };
  const write = (hooks: HookRegistry, message: AgentMessage = MESSAGE, signal = open()) =>
    hooks.beforeMessageWrite({ message }, CONTEXT, signal);
  const adding = (text: string) => (event: unknown) => {
    const { message } = event as MessageWriteEvent;
    return { message: { ...message, content: `${message.content} ${text}` } };
  };

  it('leaves the message alone when nobody is registered', async () => {
    expect(await write(registry())).toEqual({ value: MESSAGE, failures: [] });
  });

  it('gives each hook what the one before made of it', async () => {
    const hooks = registry();
    hooks.register('before_message_write', adding('three'));
    hooks.register('before_message_write', adding('two'), { priority: 1 });
    expect(await write(hooks)).toEqual({ value: { ...MESSAGE, content: 'one two three' }, failures: [] });
  });

  it.each([[undefined], [null], [{}], [{ block: false }], [{ block: null, message: undefined }], [{ other: 5 }]])(
    'takes %j as no change',
    async (given) => {
      const hooks = registry();
      hooks.register('before_message_write', () => given);
      expect(await write(hooks)).toEqual({ value: MESSAGE, failures: [] });
    },
  );

  it('blocks, and asks nobody after that', async () => {
    const hooks = registry();
    let asked = false;
    hooks.register('before_message_write', () => ({ block: true, message: { role: 'user', content: 'x' } }));
    hooks.register('before_message_write', () => {
      asked = true;
    });
    expect(await write(hooks)).toEqual({ value: null, failures: [] });
    expect(asked).toBe(false);
  });

  it.each<[unknown, string]>([
    [{ role: 'user', content: 'x', idempotencyKey: 'other' }, 'key'],
    [{ role: 'user', content: 'x' }, 'key'],
  ])('the key of %j is that of the message', async (message, idempotencyKey) => {
    const hooks = registry();
    hooks.register('before_message_write', () => ({ message }));
    expect(await write(hooks)).toEqual({ value: { role: 'user', content: 'x', idempotencyKey }, failures: [] });
    const { idempotencyKey: _, ...keyless } = MESSAGE;
    expect((await write(hooks, keyless)).value).toEqual({ role: 'user', content: 'x' });
  });

  it.each<[AgentMessage['role'], unknown, boolean]>([
    ['user', 'x', true],
    [
      'user',
      [
        { type: 'text', text: 'x' },
        { type: 'other', what: 1 },
      ],
      true,
    ],
    ['user', [{ type: 'text' }], false],
    ['user', [{}], false],
    ['user', ['x'], false],
    ['user', undefined, false],
    ['assistant', [], true],
    ['assistant', 'x', false],
    ['toolResult', [{ type: 'text', text: 7 }], false],
    ['toolResult', null, false],
    ['custom', { any: 'thing' }, true],
    ['custom', undefined, true],
  ])('%s with content %j: taken %s', async (role, content, taken) => {
    const hooks = registry();
    hooks.register('before_message_write', () => ({ message: { role, content, mark: 1 } }));
    const original = { role, content: role === 'user' ? 'x' : [], timestamp: 1 } as AgentMessage;
    const { value, failures } = await write(hooks, original);
    expect({ taken: value !== original, failures: failures.length }).toEqual({ taken, failures: taken ? 0 : 1 });
  });

  it('one that is wrong costs its own part only', async () => {
    const hooks = registry();
    hooks.register('before_message_write', adding('two'));
    hooks.register('before_message_write', () => ({ message: { role: 'assistant', content: [] } }), { source: 'plug' });
    hooks.register('before_message_write', (event) => {
      (event as MessageWriteEvent).message.timestamp = 99;
    });
    hooks.register('before_message_write', () => Promise.reject(new Error('no hunter2')));
    hooks.register('before_message_write', adding('three'));
    const { value, failures } = await write(hooks);
    expect(value).toEqual({ ...MESSAGE, content: 'one two three' });
    expect(failures).toEqual([
      { name: 'before_message_write', message: 'plug: returned a message of the role assistant, not user' },
      { name: 'before_message_write', message: expect.stringContaining('read only') },
      { name: 'before_message_write', message: 'no [redacted]' },
    ]);
  });

  it('one that hangs is left behind when the signal aborts; what was there is kept', async () => {
    const hooks = registry();
    const stop = new AbortController();
    hooks.register('before_message_write', adding('two'));
    hooks.register('before_message_write', () => {
      queueMicrotask(() => stop.abort());
      return never();
    });
    expect(await write(hooks, MESSAGE, stop.signal)).toEqual({
      value: { ...MESSAGE, content: 'one two' },
      failures: [{ name: 'before_message_write', message: 'did not answer in time' }],
    });
  });
});

describe('notify', () => {
  const NOTIFIED = HOOK_NAMES.filter((name) => name !== 'before_prompt_build' && name !== 'before_message_write');

  it.each(NOTIFIED)('%s is told, and its answer does not matter', async (name) => {
    const hooks = registry();
    const seen: unknown[] = [];
    hooks.register(name, (event) => {
      seen.push(event);
      return 'whatever';
    });
    expect(hooks.has(name)).toBe(true);
    expect(await hooks.notify(name, { text: 'x', usage: null }, CONTEXT, open())).toEqual({
      value: undefined,
      failures: [],
    });
    expect(seen).toEqual([{ text: 'x', usage: null }]);
  });

  it('an event that cannot be copied is a failure, not a rejection', async () => {
    const hooks = registry();
    hooks.register('llm_output', () => {});
    const { failures } = await hooks.notify('llm_output', { fn: () => {} }, CONTEXT, open());
    expect(failures.map(({ name }) => name)).toEqual(['llm_output']);
  });
});

it('names that this host never calls are remembered', () => {
  const hooks = registry();
  hooks.register('llm_output', () => {});
  hooks.register('message_received', () => {});
  hooks.register('constructor', () => {});
  expect(hooks.ignored).toEqual(['message_received', 'constructor']);
});

describe('loading hooks', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hooks-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function load(source: string | null) {
    const hooks = registry();
    if (source !== null) await writeFile(join(folder, 'hooks.mjs'), source);
    return { hooks, file: await loadHooks({ spec: './hooks.mjs', cwd: folder, registry: hooks }) };
  }

  it('takes an object of functions', async () => {
    const { hooks, file } = await load(
      `export default { id: 'x', before_prompt_build: () => ({ appendContext: 'hi' }), message_sent() {} }`,
    );
    expect(file).toMatch(/hooks\.mjs$/);
    expect((await build(hooks)).value).toEqual({ appendContext: 'hi' });
    expect(hooks.ignored).toEqual(['message_sent']);
  });

  it('takes a function that registers, with priorities and with the object as this', async () => {
    const { hooks } = await load(`export default {
      text: 'low',
      async register(api) {
        api.on('before_prompt_build', () => ({ appendContext: this.text }), { priority: -5 });
        api.on('before_prompt_build', () => { throw new Error('bad') });
      },
    }`);
    expect(await build(hooks)).toEqual({
      value: { appendContext: 'low' },
      failures: [{ name: 'before_prompt_build', message: './hooks.mjs: bad' }],
    });
  });

  it.each<[string, string | null]>([
    ['no such file', null],
    ['a module that throws', `throw new Error('boom')`],
    ['a text', `export default 'x'`],
    ['no hooks', `export default {}`],
    ['a hook that is no function', `export default { llm_input: 5 }`],
    ['a register that throws', `export default { register() { throw new Error('boom') } }`],
    ['a register that registers nothing', `export default { register() {} }`],
    ['a registered hook that is no function', `export default { register(api) { api.on('llm_input') } }`],
    ['a registered hook without a name', `export default { register(api) { api.on(undefined, () => {}) } }`],
  ])('refuses %s', async (_name, source) => {
    await expect(load(source)).rejects.toMatchObject({
      code: 'hooks_invalid',
      message: expect.stringMatching(/^--hooks \.\/hooks\.mjs: ./),
    });
  });
});
