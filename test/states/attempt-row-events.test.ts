import { describe, expect, it } from 'vitest';
import { runAttempt } from '../../src/attempt/run-attempt.ts';
import type { AttemptRunEvent } from '../../src/attempt/types.ts';
import { eventLine } from '../../src/cli/event-line.ts';
import { quiet } from '../../src/testing/controlled/clock.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, fail, gate, pass } from '../../src/testing/controlled/script.ts';
import {
  type ControlledRun,
  controlledServices,
  follow,
  PROMPT,
  WORK_FOLDER,
} from '../../src/testing/controlled/services.ts';
import { SESSION_FILE } from '../../src/testing/controlled/session.ts';
import { ANSWER } from '../../src/testing/controlled/turn.ts';

/** `attempt.row`: who listens hears of each new row, once it is in the session (MIR-03, MIR-04). */

const HISTORY = [userRow('before'), assistantRow('then')];
const PARAMS = { attemptId: 'attempt-1' };
const PROMPT_KEY = 'codex-attempt:attempt-1:prompt';
const item = (name: string) => `codex-app-server:thread-1:turn-1:${name}`;

const rowsOf = (events: readonly AttemptRunEvent[]) => events.filter((event) => event.type === 'attempt.row');
const row = (seq: number, entryId: string, role: string, idempotencyKey: string) => ({
  type: 'attempt.row',
  sessionFile: SESSION_FILE,
  entryId,
  idempotencyKey,
  role,
  seq,
});
const PLAIN = [row(1, 'entry-2', 'user', PROMPT_KEY), row(2, 'entry-3', 'assistant', item('item-2:assistant'))];

async function finished(run: ControlledRun): Promise<AttemptRunEvent[]> {
  await run.result;
  return rowsOf(run.events);
}

describe('attempt.row', () => {
  it('is told once for each new row, in order, counted from 1', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      codex: {
        turns: [(turn) => turn.started().message('on it', 'commentary').command('ls', 'a').message('done').completed()],
      },
    });
    const run = controlled.start(PARAMS);
    expect(await finished(run)).toEqual([
      row(1, 'entry-2', 'user', PROMPT_KEY),
      row(2, 'entry-3', 'assistant', item('item-1:assistant')),
      row(3, 'entry-4', 'assistant', item('item-2:toolCall')),
      row(4, 'entry-5', 'toolResult', item('item-2:toolResult')),
      row(5, 'entry-6', 'assistant', item('item-3:assistant')),
    ]);
  });

  it('counts each attempt for itself', async () => {
    const controlled = controlledServices({ history: HISTORY });
    await controlled.run(PARAMS);
    const run = controlled.start({ attemptId: 'attempt-2' });
    expect((await finished(run)).map((event) => ('seq' in event ? event.seq : null))).toEqual([1, 2]);
  });

  it('of the prompt comes while the turn runs, of the others before the finalizer', async () => {
    const run = controlledServices({ history: HISTORY }).start(PARAMS);
    await run.result;
    const order = run.events.flatMap((event) => {
      if (event.type === 'attempt.state') return [event.state];
      return event.type === 'attempt.row' || event.type === 'turn.completed' ? [event.type] : [];
    });
    expect(order.slice(order.indexOf('turning'))).toEqual([
      'turning',
      'turn.completed',
      'attempt.row',
      'mirroring',
      'attempt.row',
      'finalizing',
      'maintaining',
      'completed',
    ]);
  });

  it('waits for the write, and the row is in the session by then', async () => {
    const writing = gate();
    const controlled = controlledServices({
      history: HISTORY,
      codex: { turns: [(turn) => void turn.started()] },
      plan: { 'transcript.append': [writing.step, pass] },
    });
    const run = controlled.start(PARAMS);
    await run.entered('turning');
    expect(rowsOf(run.events)).toEqual([]);
    writing.pass();
    await controlled.clock.advance(0);
    expect(rowsOf(run.events)).toEqual([PLAIN[0]]);
    expect(controlled.session.messages()[2]?.idempotencyKey).toBe(PROMPT_KEY);
    controlled.codex.turns[0]?.completed();
    expect(await finished(run)).toEqual([PLAIN[0]]);
  });

  it('is not told after the end, when a write ends late', async () => {
    const writing = gate();
    const controlled = controlledServices({
      history: HISTORY,
      plan: { 'transcript.append': [writing.step, fail('full')] },
    });
    const run = controlled.start(PARAMS);
    await run.entered('turning');
    for (let second = 0; second < 60; second += 1) await controlled.clock.advance(1_000);
    expect((await run.result).outcome).toBe('completed');
    writing.pass();
    await quiet();
    expect(controlled.session.messages()).toHaveLength(3);
    expect(run.events.at(-1)?.type).toBe('attempt.settled');
    expect(rowsOf(run.events)).toEqual([]);
  });

  it.each<[string, readonly string[], object]>([
    ['was not written', [], { 'transcript.append': fail('full') }],
    ['was written only later', [PROMPT_KEY, item('item-2:assistant')], { 'transcript.append': [fail('full'), pass] }],
  ])('is not told of a row that %s', async (_name, keys, plan) => {
    const run = controlledServices({ history: HISTORY, plan: { ...plan } }).start(PARAMS);
    expect((await finished(run)).map((event) => ('idempotencyKey' in event ? event.idempotencyKey : null))).toEqual(
      keys,
    );
  });

  it('is not told of a row that hooks block', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      messageWrite: ({ role }) => ({ block: role === 'user' }),
    });
    expect(await finished(controlled.start(PARAMS))).toEqual([
      row(1, 'entry-2', 'assistant', item('item-2:assistant')),
    ]);
  });

  it('is told of the rows of a turn that a crash left open', async () => {
    const key = 'codex-attempt:crashed:prompt';
    const controlled = controlledServices({
      history: [...HISTORY, userRow('lost', key)],
      intent: {
        version: 1,
        attemptId: 'crashed',
        threadId: 'thread-0',
        turnId: 'turn-0',
        promptRow: { idempotencyKey: key, message: userRow('lost', key) },
        realm: 'live',
      },
      plan: {
        'codex.thread/read': answer({
          thread: { id: 'thread-0', turns: [{ id: 'turn-0', items: [{ type: 'agentMessage', text: 'half' }] }] },
        }),
      },
    });
    expect((await finished(controlled.start(PARAMS)))[0]).toEqual(
      row(1, 'entry-3', 'assistant', 'codex-app-server:thread-0:turn-0:recovered:assistant'),
    );
  });

  it('that makes a listener throw disturbs nothing', async () => {
    const controlled = controlledServices({ history: HISTORY });
    const handle = runAttempt({ ...PARAMS, prompt: PROMPT, cwd: WORK_FOLDER }, controlled.services);
    handle.onEvent((event) => {
      if (event.type === 'attempt.row') throw new Error('not now');
    });
    const run = follow(handle);
    expect(await finished(run)).toEqual(PLAIN);
    expect(await run.result).toMatchObject({ outcome: 'completed', degraded: [], maintenance: { ran: true } });
    expect(controlled.session.messages()).toHaveLength(4);
    expect(controlled.logged('an event listener threw')).toHaveLength(2);
  });

  it('is a line of --json, without any text of the row', async () => {
    const run = controlledServices({ history: HISTORY }).start(PARAMS);
    const lines = (await finished(run)).map((event) => eventLine(event));
    expect(lines.map((line) => JSON.parse(line))).toEqual(PLAIN);
    expect(lines.join()).not.toContain(PROMPT);
    expect(lines.join()).not.toContain(ANSWER);
  });
});
