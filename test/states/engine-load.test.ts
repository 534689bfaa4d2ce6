import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LoadEngineOptions, loadEngine } from '../../src/engine/load.ts';
import { installSdkBridge, setTranscriptReader } from '../../src/engine/sdk-bridge/index.ts';
import { loadModule } from '../../src/plugins/load.ts';
import type { HostTool } from '../../src/ports.ts';
import { DURABLE, deferred, type LogLine, manualClock, recordingLogger, TARGET, user } from './engine-fixtures.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/engines/', import.meta.url));

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'engine-load-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

interface Load {
  loaded: ReturnType<typeof loadEngine>;
  tools: HostTool[];
  hooks: { name: string; options: unknown }[];
  lines: LogLine[];
}

function load(spec: string, more: Partial<LoadEngineOptions> = {}): Load {
  const { logger, lines } = recordingLogger();
  const tools: HostTool[] = [];
  const hooks: { name: string; options: unknown }[] = [];
  const loaded = loadEngine({
    spec,
    cwd: folder,
    hooks: { register: (name, _handler, options) => hooks.push({ name, options }) },
    tools: { add: (tool) => tools.push(tool) },
    logger,
    redact: (text) => text.replaceAll('sk-secret', '[redacted]'),
    ...more,
  });
  return { loaded, tools, hooks, lines };
}

const idOf = async (spec: string, more: Partial<LoadEngineOptions> = {}): Promise<string> =>
  (await load(spec, more).loaded).id;

const ENGINE = (id: string): string => `{
  info: { id: '${id}', name: 'n' },
  ingest: () => ({ ingested: true }),
  assemble: ({ messages }) => ({ messages }),
  compact: () => ({ ok: true, compacted: false }),
}`;

describe('what an engine may be named by', () => {
  test.each([
    ['a path from the working folder', './e.mjs', 'here'],
    ['a path without a dot', 'sub/e.mjs', 'below'],
    ['a path with #', './with#hash.mjs', 'hashed'],
    ['a path with # and an id', './with#hash.mjs#hashed', 'hashed'],
    ['a folder', './plugin', 'in-folder'],
    ['a package', 'esm-engine', 'esm-package'],
    ['a package of a scope', '@scope/cjs-engine', 'cjs-package'],
    ['a part of a package', 'esm-engine/other', 'other-part'],
    ['a package that is an OpenClaw extension', 'openclaw-engine', 'extension'],
    ['the example', 'example', 'window'],
    ['the example with its id', 'example#window', 'window'],
  ])('%s', async (_name, spec, id) => {
    await file('e.mjs', `export default ${ENGINE('here')}`);
    await file('sub/e.mjs', `export default ${ENGINE('below')}`);
    await file('with#hash.mjs', `export default ${ENGINE('hashed')}`);
    await file('plugin/package.json', '{ "openclaw": { "extensions": ["./missing.js", "./src/index.mjs"] } }');
    await file('plugin/src/index.mjs', `export default ${ENGINE('in-folder')}`);
    await file(
      'node_modules/esm-engine/package.json',
      '{ "type": "module", "exports": { ".": { "import": "./m.js" }, "./other": { "import": "./o.js" } } }',
    );
    await file('node_modules/esm-engine/m.js', `export default ${ENGINE('esm-package')}`);
    await file('node_modules/esm-engine/o.js', `export default ${ENGINE('other-part')}`);
    await file('node_modules/@scope/cjs-engine/package.json', '{ "main": "lib/m.js" }');
    await file('node_modules/@scope/cjs-engine/lib/m.js', `module.exports = ${ENGINE('cjs-package')}`);
    await file(
      'node_modules/openclaw-engine/package.json',
      '{ "main": "other.js", "openclaw": { "extensions": ["./src.ts"], "runtimeExtensions": ["./built.mjs"] } }',
    );
    await file('node_modules/openclaw-engine/src.ts', `export default ${ENGINE('source')}`);
    await file('node_modules/openclaw-engine/built.mjs', `export default ${ENGINE('extension')}`);
    expect(await idOf(spec)).toBe(id);
  });

  test('an absolute path and a file URL', async () => {
    const path = await file('e.mjs', `export default ${ENGINE('absolute')}`);
    expect(await idOf(path)).toBe('absolute');
    expect(await idOf(pathToFileURL(path).href)).toBe('absolute');
    expect((await load(path).loaded).source).toBe(path);
  });

  test.each([
    ['./nope.mjs', (cwd: string) => `no such engine: nothing to load at ${join(cwd, 'nope.mjs')}`],
    ['sub/nope.ts', (cwd: string) => `no such engine: nothing to load at ${join(cwd, 'sub/nope.ts')}`],
    [
      'nope',
      (cwd: string) => `no such engine: nothing to load at the package nope from ${cwd}, and ${join(cwd, 'nope')}`,
    ],
    [
      './empty',
      (cwd: string) => `no such engine: nothing to load at ${join(cwd, 'empty')} (a folder without an entry)`,
    ],
    [
      'nope#one',
      (cwd: string) => `no such engine: nothing to load at the package nope from ${cwd}, and ${join(cwd, 'nope')}`,
    ],
    ['', () => 'no engine was named'],
  ])('%j is not found, and what was tried is named', async (spec, message) => {
    await mkdir(join(folder, 'empty'));
    await expect(load(spec).loaded).rejects.toMatchObject({ code: 'engine_not_found', message: message(folder) });
  });
});

describe('what a module may hold', () => {
  test.each([
    ['a plain object', `export default ${ENGINE('e')}`],
    ['{ engine }', `export default { engine: ${ENGINE('e')} }`],
    ['an export called engine', `export const engine = ${ENGINE('e')}`],
    ['a function that makes one', `export default () => (${ENGINE('e')})`],
    ['a function that makes { engine }', `export default async () => ({ engine: ${ENGINE('e')} })`],
    ['register(api)', `export default { register: (api) => api.registerContextEngine('e', () => (${ENGINE('e')})) }`],
    [
      'a late register(api)',
      `export default { register: async (api) => { await null; api.registerContextEngine('e', async () => (${ENGINE('e')})); } }`,
    ],
    [
      'an export called register',
      `export const register = (api) => api.registerContextEngine('e', () => (${ENGINE('e')}))`,
    ],
    ['a compiled default', `export default { __esModule: true, default: ${ENGINE('e')} }`],
  ])('%s', async (_name, text) => {
    await file('e.mjs', text);
    expect(await idOf('./e.mjs')).toBe('e');
    expect(await idOf('./e.mjs#e')).toBe('e');
  });

  test.each([
    ['a syntax error', 'export default {', 'SyntaxError: Unexpected end of input'],
    ['a throw while it loads', 'throw new TypeError("boom sk-secret")', 'TypeError: boom [redacted]'],
    ['a missing import', 'import "not-installed-anywhere"', "Cannot find package 'not-installed-anywhere'"],
  ])('%s is invalid, with the file and the reason', async (_name, text, reason) => {
    const path = await file('e.mjs', text);
    await expect(load('./e.mjs').loaded).rejects.toMatchObject({
      code: 'engine_invalid',
      message: expect.stringContaining(`${path} could not be loaded: ${reason}`) as string,
    });
  });

  test.each([
    ['a number', 'export default 7', 'is not a context engine: it lacks an object (got number)'],
    ['nothing', '', 'is not a context engine: it lacks info.id, info.name, ingest(), assemble(), compact()'],
    [
      'an object of another kind',
      'export default { name: "x" }',
      'is not a context engine: it lacks info.id, info.name, ingest(), assemble(), compact()',
    ],
    [
      'no name',
      `export default { ...${ENGINE('e')}, info: { id: 'e' } }`,
      'is not a context engine: it lacks info.name',
    ],
    ['a blank id', `export default ${ENGINE(' ')}`, 'is not a context engine: it lacks info.id'],
    [
      'no compact',
      `export default { ...${ENGINE('e')}, compact: undefined }`,
      'is not a context engine: it lacks compact()',
    ],
    [
      'an optional method that is none',
      `export default { ...${ENGINE('e')}, afterTurn: true }`,
      'is not a context engine: it lacks a callable afterTurn',
    ],
    [
      'a factory that gives nothing',
      'export default () => null',
      'is not a context engine: it lacks an object (got null)',
    ],
    [
      'a factory that throws',
      'export default () => { throw new Error("no sk-secret") }',
      'the engine could not be made: no [redacted]',
    ],
    [
      'a register that throws',
      'export default { register() { throw new Error("no db") } }',
      'the engine could not be made: no db',
    ],
    ['a register that registers none', 'export default { register() {} }', 'register() registered no context engine'],
    [
      'an engine without a factory',
      'export default { register: (api) => api.registerContextEngine("e", {}) }',
      'context engine "e" was registered without a factory',
    ],
    [
      'one id twice',
      'export default { register: (api) => { for (const i of [1, 2]) api.registerContextEngine("e", () => i); } }',
      'context engine "e" is registered twice',
    ],
    ['the reserved id', `export default ${ENGINE('legacy')}`, 'the engine id "legacy" is reserved'],
  ])('%s is invalid, and what is wrong is named', async (_name, text, what) => {
    await file('e.mjs', text);
    await expect(load('./e.mjs').loaded).rejects.toMatchObject({
      code: 'engine_invalid',
      message: expect.stringContaining(what) as string,
    });
  });

  test("an id that is not the engine's own is refused before any turn (O#66591)", async () => {
    await file('e.mjs', `export default ${ENGINE('e')}`);
    for (const spec of ['./e.mjs#other', join(FIXTURES, 'plugin.mjs#liar')]) {
      await expect(load(spec).loaded).rejects.toMatchObject({
        code: 'engine_invalid',
        message: expect.stringMatching(
          /the engine is called ".+" \(info\.id\) but was asked for or registered as "(other|liar)"$/,
        ) as string,
      });
    }
  });

  test('durable semantics without commitTurn are warned about (BL-02)', async () => {
    await file(
      'e.mjs',
      `const e = ${ENGINE('e')}; e.info.transcriptSemantics = ${JSON.stringify(DURABLE)}; export default e;`,
    );
    const { loaded, lines } = load('./e.mjs');
    await loaded;
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'context engine "e" declares durable turns but has no commitTurn(): treated as not durable',
      },
    ]);
  });

  test('a factory is told its configuration and the working folder', async () => {
    const { engine } = await load(join(FIXTURES, 'factory.mjs'), { config: { id: 'configured' } }).loaded;
    expect(engine.info).toEqual({ id: 'configured', name: folder });
  });
});

describe('a plug-in of OpenClaw', () => {
  const PLUGIN = join(FIXTURES, 'plugin.mjs');

  test('several engines need an id, and are listed', async () => {
    for (const [spec, what] of [
      [PLUGIN, 'has several context engines, name one with #: #one, #two, #liar'],
      [`${PLUGIN}#three`, 'has no context engine "three", it has: one, two, liar'],
    ] as const) {
      await expect(load(spec).loaded).rejects.toMatchObject({
        code: 'engine_invalid',
        message: expect.stringContaining(what) as string,
      });
    }
    expect(await idOf(`${PLUGIN}#two`)).toBe('two');
  });

  test('its hooks and tools join ours, the rest is ignored by name, its log is redacted', async () => {
    const { loaded, hooks, tools, lines } = load(`${PLUGIN}#one`, { toolContext: () => ({ sessionId: 's1' }) });
    const { ignored } = await loaded;
    expect(hooks).toEqual([{ name: 'before_prompt_build', options: { source: 'fixture-plugin', priority: 5 } }]);
    expect(ignored).toEqual(['registerCommand', 'registerCli', 'registerService', 'registerSomethingOfTomorrow']);
    expect(lines.filter((line) => line.level !== 'debug')).toEqual([
      { level: 'warn', message: 'plug-in "fixture-plugin": a tool was left out: tool broken has no execute()' },
      { level: 'info', message: '[fixture-plugin] registered with [redacted]' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('text of the conversation');
    const [recall, ...others] = tools;
    expect(others).toEqual([]);
    expect([recall?.name, recall?.description, recall?.parameters]).toEqual([
      'recall',
      'Recalls.',
      { type: 'object', properties: { query: { type: 'string' } } },
    ]);
    const context = { callId: 'c1', threadId: 't', turnId: 'u', signal: new AbortController().signal };
    expect(await recall?.execute({ query: 'q' }, context)).toEqual({ text: 'c1:q:s1\n[image]' });
    expect(await recall?.execute({ query: 'bad' }, context)).toEqual({ text: 'c1:bad:s1\n[image]', isError: true });
  });

  test('it sees its configuration, and completions only where there are some', async () => {
    const config = { databasePath: 'db' };
    const complete = async () => ({ text: 't', provider: 'p', model: 'm' });
    for (const completion of [undefined, complete]) {
      const { loaded } = load(`${PLUGIN}#one`, { config, ...(completion === undefined ? {} : { completion }) });
      const answer: unknown = await Reflect.apply((await loaded).engine.assemble, undefined, [{ messages: [] }]);
      expect(answer).toEqual({
        messages: [],
        systemPromptAddition: 'no memory',
        seen: { config, mode: 'full', llm: completion !== undefined },
      });
    }
  });

  test('dispose runs once and cannot fail the host', async () => {
    const { loaded, lines } = load(`${PLUGIN}#one`);
    const engine = await loaded;
    await Promise.all([engine.dispose(), engine.dispose()]);
    expect(lines.filter((line) => line.message.includes('dispose'))).toEqual([
      { level: 'warn', message: 'context engine "one" dispose() failed: dispose failed [redacted]' },
    ]);
  });

  test('quiesce waits until its completions have been quiet', async () => {
    const answer = deferred<{ text: string; provider: string; model: string }>();
    const engine = await load(`${PLUGIN}#one`, { completion: () => answer.promise }).loaded;
    const clock = manualClock();
    const summary: unknown = Reflect.apply(Reflect.get(engine.engine, 'summarise') as () => unknown, undefined, []);
    const tooEarly = engine.quiesce({ timeoutMs: 1000, clock });
    clock.advance(1000);
    expect(await tooEarly).toBe(false);
    const patient = engine.quiesce({ timeoutMs: 1000, clock });
    answer.resolve({ text: 't', provider: 'p', model: 'm' });
    await summary;
    clock.advance(50);
    expect(await patient).toBe(true);
  });
});

describe('the SDK bridge', () => {
  test('import: SDK functions, and a reader that the host has set', async () => {
    const { engine } = await load(`${join(FIXTURES, 'plugin.mjs')}#one`).loaded;
    const entry = {
      entryId: 'e1',
      parentId: null,
      seq: 0,
      message: user('x'),
      role: 'user',
      createdAt: '2026-01-01T00:00:00.000Z',
    };
    const bootstrap = (): unknown => engine.bootstrap?.({ sessionId: TARGET.sessionId, sessionTarget: TARGET });
    const release = setTranscriptReader(TARGET, () => [entry]);
    expect(await bootstrap()).toEqual({ bootstrapped: true, visible: ['e1'] });
    const later = setTranscriptReader(TARGET, () => []);
    release();
    expect(await bootstrap()).toEqual({ bootstrapped: true, visible: [] });
    later();
    await expect(bootstrap()).rejects.toThrow('no open session "session-1" to read');
  });

  test('require: the same from CommonJS', async () => {
    const { engine, id } = await load(join(FIXTURES, 'sdk.cjs')).loaded;
    expect(id).toBe('cjs');
    expect(await engine.compact({ sessionId: 's', tokenBudget: 1 })).toEqual({
      ok: true,
      compacted: false,
      reason: 'this host compacts the native thread by itself',
    });
  });

  test('TypeScript: static and dynamic imports', async () => {
    await file(
      'e.ts',
      `import { definePluginEntry } from 'openclaw/plugin-sdk/plugin-entry';
       import type { Nothing } from 'openclaw/plugin-sdk';
       enum Id { Own = 'typescript' }
       export default definePluginEntry({ register(api: { registerContextEngine(id: string, make: () => unknown): void }) {
         api.registerContextEngine(Id.Own, () => ({ ...${ENGINE('typescript')}, assemble: async () => {
           const { buildMemorySystemPromptAddition } = await import('openclaw/plugin-sdk/core');
           return { messages: [], systemPromptAddition: typeof buildMemorySystemPromptAddition };
         } }));
       } });`,
    );
    const { engine, id } = await load('./e.ts').loaded;
    expect(id).toBe('typescript');
    const answer: unknown = await Reflect.apply(engine.assemble, engine, [{}]);
    expect(answer).toEqual({ messages: [], systemPromptAddition: 'function' });
  });

  test.each([
    ['mjs', "import { definePluginEntry } from 'openclaw/plugin-sdk/core'; export default definePluginEntry;"],
    ['cjs', "module.exports = require('openclaw/plugin-sdk/core').definePluginEntry;"],
    ['ts', "import { definePluginEntry } from 'openclaw/plugin-sdk/core'; export default definePluginEntry;"],
  ])('an SDK that is installed beside the plug-in is left to it (.%s)', async (extension, text) => {
    await file('node_modules/openclaw/package.json', '{ "exports": { "./plugin-sdk/core": "./core.cjs" } }');
    await file('node_modules/openclaw/core.cjs', "exports.definePluginEntry = 'the real one';");
    await file(`e.${extension}`, text);
    expect(await loadModule(`./e.${extension}`, folder)).toMatchObject({ ok: true, module: { value: 'the real one' } });
  });

  test('nothing but the SDK is served, and it is installed once', async () => {
    await file('e.mjs', "import 'openclaw/plugin-sdk/unheard-of';");
    expect(await loadModule('./e.mjs', folder)).toMatchObject({ ok: false, reason: 'failed' });
    expect(installSdkBridge()).toBe(installSdkBridge());
  });
});
