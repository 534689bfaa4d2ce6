/**
 * One engine, honest as it stands, with one fault planted each time: the examination must find it, under the clause that
 * it is of, and nothing else. Paths of the machine are left out here; conform-cli.test.ts has them.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Bench } from '../../src/conform/bench.ts';
import { CLAUSES, type ClauseId } from '../../src/conform/clauses.ts';
import { examineAll } from '../../src/conform/examine.ts';
import { Verdicts } from '../../src/conform/verdicts.ts';

const ENGINE = fileURLToPath(new URL('../fixtures/engines/broken-engine.mjs', import.meta.url));

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conform-faults-'));
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

async function examined(spec: string, config: object, timeoutMs = 10_000): Promise<Verdicts> {
  const verdicts = new Verdicts();
  const bench = await Bench.open({ spec, config: { ...config }, folder, timeoutMs }, verdicts);
  const paths = await examineAll(bench, 0);
  expect(paths).toEqual({ total: expect.any(Number), driven: 0, leftOut: paths.total });
  return verdicts;
}

const brokenIn = (verdicts: Verdicts): ClauseId[] =>
  verdicts.entries().flatMap(([id, { broken }]) => (broken === null ? [] : [id]));

const FAULTS: readonly { fault: string; clause: ClauseId; found: RegExp; last: string }[] = [
  { fault: 'half-durable', clause: 'members', found: /^nothing$/, last: 'load' },
  {
    fault: 'maintain-throws',
    clause: 'answers',
    found: /^maintain\(\) threw: not today$/,
    last: 'maintain (bootstrap)',
  },
  { fault: 'maintain-hangs', clause: 'hangs', found: /^no answer in 0.3 s$/, last: 'maintain (turn)' },
  { fault: 'blocks', clause: 'event-loop', found: /^compact\(\) blocked it for 1[34]\d\d ms$/, last: 'compact' },
  { fault: 'wrong-answer', clause: 'shapes', found: /^changed is "no"$/, last: 'maintain (bootstrap)' },
  { fault: 'alters-input', clause: 'inputs', found: /^messages\[0\] was nothing and is \{/, last: 'assemble' },
  { fault: 'clock', clause: 'determinism', found: /^systemPromptAddition was "It is \d+\.", then "/, last: 'assemble' },
  { fault: 'needs-history', clause: 'empty-history', found: /^assemble\(\) threw: Cannot read/, last: 'assemble' },
  { fault: 'tools-are-a-list', clause: 'available-tools', found: /used the Set as an array\)$/, last: 'assemble' },
  {
    fault: 'loses-text',
    clause: 'text',
    found: /: "\\u2028and\\u2029sep" became "\\nand\\u2029sep"$/,
    last: 'ABORT while thread-start',
  },
  {
    fault: 'drops-results',
    clause: 'tool-pairs',
    found: /^the call ".+" is there, its result is not$/,
    last: 'assemble',
  },
  { fault: 'ignores-budget', clause: 'budget', found: /^240 messages of about/, last: 'ABORT while thread-start' },
  {
    fault: 'two-finalizers',
    clause: 'one-finalizer',
    found: /^the answer of the turn is not in it$/,
    last: 'ABORT while thread-start',
  },
  {
    fault: 'stores-twice',
    clause: 'one-finalizer',
    found: /^the prompt of the turn is in it 2 times$/,
    last: 'assemble',
  },
  { fault: 'no-ledger', clause: 'commit-idempotent', found: /is then there 2 times$/, last: 'assemble' },
  { fault: 'ledger-in-memory', clause: 'commit-idempotent', found: /is then there 2 times$/, last: 'assemble' },
  { fault: 'stores-first', clause: 'commit-atomic', found: /^the assembly then holds text of it$/, last: 'assemble' },
  { fault: 'stores-heartbeats', clause: 'heartbeat', found: /^the prompt of the heartbeat is in/, last: 'assemble' },
  { fault: 'stores-prompts', clause: 'unfinished-turns', found: /^it is in the assembly$/, last: 'assemble' },
  {
    fault: 'imports-again',
    clause: 'bootstrap-twice',
    found: /^a message is shown 2 times$/,
    last: 'ABORT while thread-start',
  },
  {
    fault: 'grows-by-compaction',
    clause: 'compact',
    found: /^about \d+ tokens before, \d+ after$/,
    last: 'ABORT while thread-start',
  },
  {
    fault: 'forgets-at-restart',
    clause: 'restart',
    found: /^messages\[0\].+ was ".+ and is "/,
    last: 'ABORT while thread-start',
  },
  {
    fault: 'loads-once',
    clause: 'restart',
    found: /broken-engine\.mjs: the engine could not be made: it is loaded already$/,
    last: 'the engine is loaded anew',
  },
  {
    fault: 'epoch-per-turn',
    clause: 'epoch',
    found: /^a fresh one after every turn: "e2", "e4", "e6", "e8"$/,
    last: 'assemble',
  },
  { fault: 'epoch-by-prompt', clause: 'epoch', found: /^"e\d+", with another prompt "e\d+"$/, last: 'assemble' },
  { fault: 'disposes-once', clause: 'dispose', found: /^it threw: it is closed already$/, last: 'dispose' },
];

/** Seen by the process that examines only. */
const OF_THE_PROCESS = ['throws-later', 'exits', 'blocks-for-ever', 'process-id'];

describe('an engine with one fault', () => {
  it.each(FAULTS)('$fault: $clause', async ({ fault, clause, found, last }) => {
    const verdicts = await examined(ENGINE, { fault }, fault === 'maintain-hangs' ? 300 : 10_000);
    expect(brokenIn(verdicts)).toEqual([clause]);
    const { broken } = verdicts.of(clause);
    expect(broken).toEqual({
      expected: expect.any(String),
      found: expect.stringMatching(found),
      path: expect.any(Array),
    });
    expect(broken?.path.at(-1)).toBe(last);
  });

  it('is tried with every fault that it can have, one for each clause at least', async () => {
    const text = await readFile(ENGINE, 'utf8');
    const table = text.slice(text.indexOf('const FAULTS'), text.indexOf('export default'));
    const planted = [...table.matchAll(/^ {2}'?([\w-]+)'?: \(/gm)].map(([, name]) => name);
    const tried = [...FAULTS.map(({ fault }) => fault), ...OF_THE_PROCESS];
    expect([...tried, 'none'].sort()).toEqual(planted.sort());
    const clauses = new Set([...FAULTS.map(({ clause }) => clause), 'inside']);
    expect(CLAUSES.filter(({ id }) => !clauses.has(id))).toEqual([]);
  });
});

describe('an engine without a fault', () => {
  const reasons = (verdicts: Verdicts): object =>
    Object.fromEntries(verdicts.entries().flatMap(([id, { runs, reason }]) => (runs === 0 ? [[id, reason]] : [])));

  it('holds every clause', async () => {
    const verdicts = await examined(ENGINE, {});
    expect(brokenIn(verdicts)).toEqual([]);
    // `inside` is looked at by the process that examines.
    expect(reasons(verdicts)).toEqual({ inside: null, epoch: 'assemble() returns no contextProjection' });
  });

  it('the example holds every clause, projecting once per epoch and maintaining in the background', async () => {
    const verdicts = await examined('example', { mode: 'thread_bootstrap', turnMaintenanceMode: 'background' });
    expect(brokenIn(verdicts)).toEqual([]);
    expect(reasons(verdicts)).toEqual({ inside: null, dispose: 'the engine has no dispose()' });
  });

  it('a minimal one, as docs/engines.md has it, holds what it has', async () => {
    const page = await readFile(fileURLToPath(new URL('../../docs/engines.md', import.meta.url)), 'utf8');
    const code = /```js last-few\.mjs\n(.*?)```/s.exec(page)?.[1];
    expect(code).toBeDefined();
    const file = join(folder, 'last-few.mjs');
    await writeFile(file, code ?? '');
    const verdicts = await examined(file, {});
    expect(brokenIn(verdicts)).toEqual([]);
    const notDurable = 'the engine does not declare the durable contract (transcriptSemantics and commitTurn)';
    expect(reasons(verdicts)).toEqual({
      inside: null,
      'commit-idempotent': notDurable,
      'commit-atomic': notDurable,
      'bootstrap-twice': 'the engine has no bootstrap()',
      epoch: 'assemble() returns no contextProjection',
      dispose: 'the engine has no dispose()',
    });
  });
});

describe('what an engine registers beside its methods', () => {
  const plugin = (registers: string): string => `
    const engine = {
      info: { id: 'beside', name: 'Beside' },
      assemble: ({ messages }) => ({ messages }),
      ingest: () => undefined,
      compact: () => ({ ok: true, compacted: false }),
    };
    export default {
      id: 'beside',
      register(api) {
        ${registers}
        api.registerContextEngine('beside', () => engine);
      },
    };`;
  const hangsIn = async (registers: string): Promise<unknown> => {
    const file = join(folder, 'beside.mjs');
    await writeFile(file, plugin(registers));
    const { broken } = (await examined(file, {}, 300)).of('hangs');
    return broken === null ? null : [broken.expected, broken.found];
  };

  it.each(['before_prompt_build', 'before_message_write', 'llm_input', 'agent_end'])(
    'the hook %s may not hang',
    async (name) => {
      expect(await hangsIn(`api.on('${name}', () => new Promise(() => {}));`)).toEqual([
        `the hook ${name} ends`,
        'no answer in 0.3 s',
      ]);
    },
  );

  it('a hook that answers is none of that', async () => {
    expect(await hangsIn(`api.on('agent_end', async () => {});`)).toBe(null);
  });
});
