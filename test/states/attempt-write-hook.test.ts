import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TranscriptRow } from '../../src/ports.ts';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { refusal, type TurnPlay } from '../../src/testing/controlled/codex.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, deaf, fail, hang, type Plan, pass, type Step } from '../../src/testing/controlled/script.ts';
import { type Controlled, type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import type { AgentMessage } from '../../src/transcript/messages.ts';
import { openSessionStore } from '../../src/transcript/store.ts';

/** `before_message_write` in whole attempts: what is written, and who sees what (MIR-07 to MIR-10). */

const HISTORY = [userRow('before'), assistantRow('then')];
const PROMPT_KEY = 'codex-attempt:attempt-1:prompt';
const ANSWER_KEY = 'codex-app-server:thread-1:turn-1:item-2:assistant';
const PARAMS = { attemptId: 'attempt-1', prompt: 'my word is swordfish' };

type MessageWrite = (message: AgentMessage) => unknown;

const textOf = ({ content }: AgentMessage): string =>
  Array.isArray(content) ? content.map((part) => ('text' in part ? part.text : `(${part.type})`)).join() : `${content}`;
const linesOf = (messages: readonly AgentMessage[]) => messages.map((row) => `${row.role}: ${textOf(row)}`);

/** Takes a word out of every text. */
const hiding: MessageWrite = (message) => ({
  message: JSON.parse(JSON.stringify(message).replaceAll('swordfish', '[hidden]')),
});
const blocking =
  (...roles: string[]): MessageWrite =>
  ({ role }) => ({ block: roles.includes(role) });

const echo: TurnPlay = (turn) => turn.started().user().message('swordfish it is').completed();
const long: TurnPlay = (turn) =>
  turn.started().message('on it', 'commentary').command('ls', 'a').message('done').completed();

const controlledWrite = (messageWrite: MessageWrite, setup: ControlledSetup = {}) =>
  controlledServices({ history: HISTORY, messageWrite, codex: { turns: [echo] }, ...setup });

/** The messages that the hook was asked about. */
const askedOf = (controlled: Controlled): AgentMessage[] =>
  controlled.script.of('hook.before_message_write').map((params) => {
    const { event } = params as { event: { message: AgentMessage } };
    return event.message;
  });
const seenBy = (controlled: Controlled, call: string): AgentMessage[] => {
  const [params] = controlled.script.of(call) as { messages?: AgentMessage[]; event?: { messages: AgentMessage[] } }[];
  return params?.messages ?? params?.event?.messages ?? [];
};

describe('a rewritten row', () => {
  it('is what the session, the finalizer and agent_end hold, under the key of the original', async () => {
    const controlled = controlledWrite(hiding);
    expect(await controlled.run(PARAMS)).toMatchObject({ outcome: 'completed', degraded: [], text: 'swordfish it is' });
    const written = ['user: my word is [hidden]', 'assistant: [hidden] it is'];
    const rows = controlled.session.messages();
    expect(linesOf(rows.slice(2))).toEqual(written);
    expect(rows.slice(2).map((row) => row.idempotencyKey)).toEqual([PROMPT_KEY, ANSWER_KEY]);
    expect(seenBy(controlled, 'engine.afterTurn')).toEqual(rows);
    expect(seenBy(controlled, 'hook.agent_end')).toEqual(rows);
  });

  it('is shown to the hook once, with the turn it belongs to, however often it is written', async () => {
    const controlled = controlledWrite(hiding);
    await controlled.run(PARAMS);
    expect(linesOf(askedOf(controlled))).toEqual(['user: my word is swordfish', 'assistant: swordfish it is']);
    expect(controlled.script.of('hook.before_message_write')).toMatchObject(
      [1, 2].map(() => ({ context: { attemptId: 'attempt-1', threadId: 'thread-1', turnId: 'turn-1' } })),
    );
    // The prompt row is written at turn/started and again with the others.
    expect(controlled.script.of('transcript.append')).toMatchObject([
      { keys: [PROMPT_KEY] },
      { keys: [PROMPT_KEY, ANSWER_KEY] },
    ]);
    expect(controlled.session.messages()).toHaveLength(4);
  });

  it('does not change what Codex gets', async () => {
    const controlled = controlledWrite(hiding);
    await controlled.run(PARAMS);
    const [turn] = controlled.script.of('codex.turn/start') as { input: { text: string }[] }[];
    expect(turn?.input[0]?.text).toContain('my word is swordfish');
  });

  it.each<[string, MessageWrite]>([
    ['another key', (message) => ({ message: { ...message, idempotencyKey: 'mine', content: [] } })],
    ['no key', ({ idempotencyKey: _, ...message }) => ({ message: { ...message, content: [] } })],
  ])('with %s keeps its own', async (_name, write) => {
    const controlled = controlledWrite(write);
    await controlled.run(PARAMS);
    expect(controlled.session.messages().slice(2)).toMatchObject([
      { role: 'user', content: [], idempotencyKey: PROMPT_KEY },
      { role: 'assistant', content: [], idempotencyKey: ANSWER_KEY },
    ]);
  });

  it('is what an engine gets when the mirror fails, too', async () => {
    const controlled = controlledWrite(hiding, { plan: { 'transcript.append': fail('full') } });
    await controlled.run(PARAMS);
    expect(linesOf(seenBy(controlled, 'engine.afterTurn').slice(2))).toEqual([
      'user: my word is [hidden]',
      'assistant: [hidden] it is',
    ]);
  });

  it('of a turn that the app-server refused is written by mirroring', async () => {
    const controlled = controlledWrite(hiding, { plan: { 'codex.turn/start': fail(refusal('no')) } });
    expect((await controlled.run(PARAMS)).outcome).toBe('failed');
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(['user: my word is [hidden]']);
    expect(askedOf(controlled)).toHaveLength(1);
  });

  it('is committed as it stands in the session', async () => {
    const controlled = controlledWrite(hiding, { engine: { info: DURABLE_INFO, methods: DURABLE_METHODS } });
    expect((await controlled.run(PARAMS)).finalization).toEqual({ method: 'commitTurn', ok: true });
    expect(seenBy(controlled, 'engine.commitTurn')).toEqual(controlled.session.messages().slice(2));
  });
});

describe('a blocked row', () => {
  it('is not written, and nobody is given it', async () => {
    const controlled = controlledWrite(blocking('toolResult'), { codex: { turns: [long] } });
    expect(await controlled.run(PARAMS)).toMatchObject({ outcome: 'completed', degraded: [] });
    const rows = controlled.session.messages();
    expect(rows.slice(2).map((row) => row.role)).toEqual(['user', 'assistant', 'assistant', 'assistant']);
    expect(seenBy(controlled, 'engine.afterTurn')).toEqual(rows);
    expect(seenBy(controlled, 'hook.agent_end')).toEqual(rows);
  });

  it('between the ends of a turn leaves a turn that can be committed', async () => {
    const controlled = controlledWrite(blocking('toolResult'), {
      codex: { turns: [long] },
      engine: { info: DURABLE_INFO, methods: DURABLE_METHODS },
    });
    expect((await controlled.run(PARAMS)).finalization).toEqual({ method: 'commitTurn', ok: true });
    expect(seenBy(controlled, 'engine.commitTurn')).toEqual(controlled.session.messages().slice(2));
  });

  it.each<[string, MessageWrite, string, string]>([
    ['the prompt', blocking('user'), 'prompt-row-blocked', 'prompt row'],
    ['the last row', (row) => ({ block: textOf(row) === 'done' }), 'terminal-row-blocked', 'last row of the turn'],
    ['every row', () => ({ block: true }), 'prompt-row-blocked', 'prompt row'],
  ])(
    'that is %s leaves a turn that cannot be committed, and the result says why',
    async (_name, write, reason, which) => {
      const controlled = controlledWrite(write, {
        codex: { turns: [long] },
        engine: { info: DURABLE_INFO, methods: DURABLE_METHODS },
      });
      expect(await controlled.run(PARAMS)).toMatchObject({
        outcome: 'completed',
        finalization: { method: 'commitTurn', ok: false, reason },
        maintenance: { ran: false, reason: 'not-finalized' },
        degraded: [
          {
            state: 'finalizing',
            code: 'finalize_failed',
            message: `the turn was accepted but has no anchors to commit it by: a before_message_write hook kept the ${which} out of the session`,
          },
        ],
      });
      expect(controlled.script.of('engine.commitTurn')).toEqual([]);
      expect(controlled.session.state.outbox).toEqual([]);
    },
  );

  it('that is the prompt is not asked about again', async () => {
    const controlled = controlledWrite(blocking('user'));
    await controlled.run(PARAMS);
    expect(linesOf(askedOf(controlled))).toEqual(['user: my word is swordfish', 'assistant: swordfish it is']);
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(['assistant: swordfish it is']);
  });
});

describe('a hook that does not do its part', () => {
  const AS_IT_IS = ['user: my word is swordfish', 'assistant: swordfish it is'];
  const wrong: [string, Step][] = [
    ['throws', fail('no')],
    ['answers no object', answer(7)],
    ['answers a list', answer([])],
    ['changes the role', answer({ message: { role: 'custom', content: 'x' } })],
    ['answers a message without a role', answer({ message: { content: [] } })],
    ['answers no message', answer({ message: 'x' })],
    ['answers content that is none', answer({ message: { role: 'user', content: 7 } })],
    ['answers what JSON cannot hold', answer({ message: { role: 'user', content: 'x', big: 1n } })],
    ['does not say whether it blocks', answer({ block: 'perhaps' })],
  ];

  it.each(wrong)('%s: it is told, and the rows are written as they are', async (_name, step) => {
    const controlled = controlledWrite(hiding, { plan: { 'hook.before_message_write': step } });
    const result = await controlled.run(PARAMS);
    expect(result).toMatchObject({
      outcome: 'completed',
      degraded: [
        { state: 'turning', code: 'hook_failed' },
        { state: 'mirroring', code: 'hook_failed' },
      ],
      finalization: { method: 'afterTurn', ok: true },
      maintenance: { ran: true },
    });
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(AS_IT_IS);
  });

  it('changes the role in a registry of the host: the same', async () => {
    const controlled = controlledWrite(hiding);
    const hooks = Object.assign(Object.create(controlled.services.hooks ?? null), {
      has: (name: string) => name === 'before_message_write',
      beforeMessageWrite: async () => ({ value: { role: 'custom' }, failures: [] }),
    });
    const result = await controlled.run(PARAMS, { hooks });
    expect(result.degraded.map(({ state, code }) => [state, code])).toEqual([
      ['turning', 'hook_failed'],
      ['mirroring', 'hook_failed'],
    ]);
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(AS_IT_IS);
  });

  it.each([hang, deaf])(
    'hangs on the prompt while the turn runs: written as it is, once its time is over',
    async (step) => {
      let finish = (): void => {};
      const controlled = controlledWrite(hiding, {
        codex: {
          turns: [
            (turn) => {
              turn.started().user();
              finish = () => turn.message('swordfish it is').completed();
            },
          ],
        },
        plan: { 'hook.before_message_write': [step, pass] },
      });
      const run = controlled.start(PARAMS);
      await run.entered('turning');
      await controlled.clock.advance(14_999);
      expect(controlled.session.messages()).toEqual(HISTORY);
      await controlled.clock.advance(1);
      expect(linesOf(controlled.session.messages().slice(2))).toEqual(['user: my word is swordfish']);
      finish();
      expect(await run.result).toMatchObject({
        outcome: 'completed',
        degraded: [{ state: 'turning', code: 'budget_hooks' }],
      });
      expect(linesOf(controlled.session.messages().slice(2))).toEqual([
        'user: my word is swordfish',
        'assistant: [hidden] it is',
      ]);
    },
  );

  it.each<[string, Plan, string[]]>([
    [
      'the prompt',
      { 'hook.before_message_write': [deaf, pass] },
      ['user: my word is swordfish', 'assistant: [hidden] it is'],
    ],
    [
      'another row',
      { 'hook.before_message_write': [pass, deaf] },
      ['user: my word is [hidden]', 'assistant: swordfish it is'],
    ],
    ['every row', { 'hook.before_message_write': deaf }, AS_IT_IS],
  ])('hangs on %s of a short turn: the mirror waits for its time, not for its own', async (_name, plan, written) => {
    const controlled = controlledWrite(hiding, { plan });
    const run = controlled.start(PARAMS);
    await run.entered('turning');
    await controlled.clock.advance(5_000);
    await run.entered('mirroring');
    for (let second = 0; second < 25; second += 1) await controlled.clock.advance(1_000);
    const result = await run.result;
    expect(result).toMatchObject({ outcome: 'completed', finalization: { method: 'afterTurn', ok: true } });
    expect(new Set(result.degraded.map((step) => step.code))).toEqual(new Set(['budget_hooks']));
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(written);
    expect(
      controlled.trace.filter((event) => event['hook'] === 'before_message_write').map((event) => event['ok']),
    ).toContain(false);
  });

  it('hangs for longer than the mirror may take: the rows are written before that is over', async () => {
    const controlled = controlledWrite(hiding, { plan: { 'hook.before_message_write': deaf } });
    const run = controlled.start({ ...PARAMS, budgets: { mirror: 4_000 } });
    await run.entered('turning');
    await controlled.clock.advance(2_000);
    await run.entered('mirroring');
    await controlled.clock.advance(2_000);
    expect((await run.result).degraded).toMatchObject([
      { state: 'turning', code: 'budget_hooks' },
      { state: 'mirroring', code: 'budget_hooks' },
    ]);
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(AS_IT_IS);
  });

  it('hangs on the prompt of a turn that broke off: the other rows get what is left of the time', async () => {
    const controlled = controlledWrite(hiding, {
      codex: {
        turns: [
          (turn) => {
            turn.started().message('swordfish it is');
            turn.client.end(1);
          },
        ],
      },
      plan: { 'hook.before_message_write': deaf },
    });
    const run = controlled.start(PARAMS);
    await run.entered('mirroring');
    await controlled.clock.advance(15_000);
    await controlled.clock.advance(1);
    expect(await run.result).toMatchObject({ outcome: 'failed', finalization: { method: 'afterTurn', ok: true } });
    expect(linesOf(controlled.session.messages().slice(2))).toEqual(AS_IT_IS);
  });

  it('hangs at an abort: the rows are written within the grace', async () => {
    const controlled = controlledWrite(hiding, {
      codex: { turns: [(turn) => void turn.started().openMessage('swordfish so far')] },
      plan: { 'hook.before_message_write': deaf },
    });
    const run = controlled.start(PARAMS);
    await run.entered('turning');
    run.abort();
    await quiet();
    await controlled.clock.advance(500);
    await controlled.clock.advance(500);
    expect(await run.result).toMatchObject({ outcome: 'aborted', finalization: { method: 'afterTurn', ok: true } });
    expect(linesOf(controlled.session.messages().slice(2))).toEqual([
      'user: my word is swordfish',
      'assistant: swordfish so far',
    ]);
  });

  it('hangs when the abort comes during the mirror: the same', async () => {
    const controlled = controlledWrite(hiding, { plan: { 'hook.before_message_write': [pass, deaf] } });
    const run = controlled.start(PARAMS);
    await run.entered('mirroring');
    run.abort();
    await controlled.clock.advance(500);
    expect((await run.result).degraded).toMatchObject([{ state: 'mirroring', code: 'budget_hooks' }]);
    expect(linesOf(controlled.session.messages().slice(2))).toEqual([
      'user: my word is [hidden]',
      'assistant: swordfish it is',
    ]);
  });

  it('that answers in time does its part at an abort, too', async () => {
    const controlled = controlledWrite(hiding, {
      codex: { turns: [(turn) => void turn.started().openMessage('swordfish so far')] },
    });
    const run = controlled.start(PARAMS);
    await run.entered('turning');
    run.abort();
    expect(await run.result).toMatchObject({ outcome: 'aborted', degraded: [] });
    expect(linesOf(controlled.session.messages().slice(2))).toEqual([
      'user: my word is [hidden]',
      'assistant: [hidden] so far',
    ]);
  });
});

describe('rows of a turn that a crash left open', () => {
  const promptRow: TranscriptRow = {
    idempotencyKey: 'codex-attempt:crashed:prompt',
    message: userRow('swordfish was lost', 'codex-attempt:crashed:prompt'),
  };
  const intent = {
    version: 1,
    attemptId: 'crashed',
    threadId: 'thread-0',
    turnId: 'turn-0',
    promptRow,
    realm: 'live',
  } as const;
  const thread = answer({
    thread: { id: 'thread-0', turns: [{ id: 'turn-0', items: [{ type: 'agentMessage', text: 'swordfish half' }] }] },
  });

  it('go through the hook', async () => {
    const controlled = controlledWrite(hiding, { intent, plan: { 'codex.thread/read': thread } });
    expect((await controlled.run(PARAMS)).degraded).toEqual([]);
    expect(linesOf(controlled.session.messages().slice(2, 4))).toEqual([
      'user: [hidden] was lost',
      'assistant: [hidden] half',
    ]);
  });

  it('that are there already do not', async () => {
    const controlled = controlledWrite(hiding, {
      history: [...HISTORY, promptRow.message],
      intent,
      plan: { 'codex.thread/read': thread },
    });
    await controlled.run(PARAMS);
    expect(linesOf(controlled.session.messages().slice(2, 4))).toEqual([
      'user: swordfish was lost',
      'assistant: [hidden] half',
    ]);
    expect(linesOf(askedOf(controlled))[0]).toBe('assistant: swordfish half');
  });

  it('and are blocked leave nothing; the turn is not asked about again', async () => {
    const controlled = controlledWrite(() => ({ block: true }), { intent, plan: { 'codex.thread/read': thread } });
    await controlled.run(PARAMS);
    expect(controlled.session.messages()).toEqual(HISTORY);
    expect(controlled.session.state.intent).toBeNull();
  });

  it('and meet a hook that hangs are written as they are', async () => {
    const controlled = controlledWrite(hiding, {
      intent,
      plan: { 'codex.thread/read': thread, 'hook.before_message_write': [deaf, pass] },
    });
    const run = controlled.start(PARAMS);
    await run.entered('bootstrap.recovering');
    await controlled.clock.advance(7_500);
    expect((await run.result).degraded).toMatchObject([{ state: 'bootstrap.recovering', code: 'budget_hooks' }]);
    expect(linesOf(controlled.session.messages().slice(2, 4))).toEqual([
      'user: swordfish was lost',
      'assistant: swordfish half',
    ]);
  });
});

describe('a session file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'codex-attempt-write-hook-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const session = (controlled: Controlled) =>
    openSessionStore({ sessionFile: join(folder, 's.jsonl'), realm: 'live', cwd: folder, clock: controlled.clock });

  it('does not come into being when everything is blocked', async () => {
    const controlled = controlledServices({ messageWrite: () => ({ block: true }), codex: { turns: [echo] } });
    expect(await controlled.run(PARAMS, { session: session(controlled) })).toMatchObject({ outcome: 'completed' });
    expect(await readdir(folder)).not.toContain('s.jsonl');
  });

  it.each(['swordfish', '[hidden]'])(
    'in which another writer has put the prompt down as "%s" gets no second one',
    async (word) => {
      const message = { role: 'user', content: `my word is ${word}`, timestamp: 1 };
      const lines = [
        { type: 'session', version: 3, id: 's', timestamp: '2026-01-01T00:00:00.000Z', cwd: folder },
        { type: 'message', id: 'a', parentId: null, timestamp: '2026-01-01T00:00:00.000Z', message },
      ];
      await writeFile(join(folder, 's.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const controlled = controlledServices({ messageWrite: hiding, codex: { turns: [echo] } });
      await controlled.run(PARAMS, { session: session(controlled) });
      const rows = (await readFile(join(folder, 's.jsonl'), 'utf8'))
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line).message);
      expect(linesOf(rows)).toEqual([`user: my word is ${word}`, 'assistant: [hidden] it is']);
    },
  );
});
