import { describe, expect, it } from 'vitest';
import { planThread } from '../../src/attempt/thread-plan.ts';
import type { ThreadBinding, TurnIntent } from '../../src/ports.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { type ControlledSetup, controlledServices } from '../../src/testing/controlled/services.ts';
import { bindingOf, SESSION_ID } from '../../src/testing/controlled/session.ts';

/** A thread knows one conversation. What the session file holds may by now be another one, or a changed one. */

const HISTORY = [userRow('we began here'), assistantRow('and went on')];

const OTHER_CONVERSATION =
  'the session file is another conversation than the one its thread belongs to: a new thread is started';
const OTHER_TURN =
  'the session file is another conversation than the one in which a turn broke off: that turn is left out of it';

const PROMPT_ROW = { idempotencyKey: 'codex-attempt:attempt-0:prompt', message: userRow('asked elsewhere') };
const intentOf = (more: Partial<TurnIntent>): TurnIntent => ({
  version: 1,
  attemptId: 'attempt-0',
  threadId: 'thread-9',
  turnId: 'turn-9',
  promptRow: PROMPT_ROW,
  realm: 'live',
  ...more,
});

/** What one attempt did about threads, and what it said. */
async function attempt(setup: ControlledSetup) {
  const controlled = controlledServices({ history: HISTORY, engine: null, ...setup });
  const run = controlled.start({ attemptId: 'attempt-1' });
  expect((await run.result).outcome).toBe('completed');
  const methods = controlled.script.calls.map((call) => call.name);
  return {
    controlled,
    thread: methods.find((name) => name === 'codex.thread/start' || name === 'codex.thread/resume'),
    notices: run.events.flatMap((event) => (event.type === 'attempt.notice' ? [event.message] : [])),
    input: JSON.stringify(controlled.script.of('codex.turn/start')[0]),
    reason: controlled.logged('codex context engine projection decided').map((line) => line.fields['reason']),
  };
}

describe('a binding', () => {
  it.each<[string, ThreadBinding]>([
    ['of this session', { ...bindingOf({ seenEntryId: 'entry-1' }), sessionId: SESSION_ID }],
    ['from before sessions were written down', bindingOf({ seenEntryId: 'entry-1' })],
  ])('%s is used, and is of this session from then on', async (_name, binding) => {
    const { thread, notices, controlled, input } = await attempt({ binding });
    expect({ thread, notices }).toEqual({ thread: 'codex.thread/resume', notices: [] });
    expect(input).not.toContain('we began here');
    expect(controlled.session.state.binding).toMatchObject({
      sessionId: SESSION_ID,
      threads: [{ threadId: 'thread-9' }],
    });
  });

  it.each([null, 'entry-1'])('of another session is told, not used, and replaced (seen: %j)', async (seenEntryId) => {
    const binding = { ...bindingOf({ seenEntryId }), sessionId: 'session-2' };
    const { thread, notices, controlled, input } = await attempt({ binding });
    expect({ thread, notices }).toEqual({ thread: 'codex.thread/start', notices: [OTHER_CONVERSATION] });
    expect(input).toContain('we began here');
    expect(controlled.session.state.binding).toMatchObject({ sessionId: SESSION_ID });
    expect(controlled.session.state.binding?.threads.map(({ threadId }) => threadId)).toEqual(['thread-1']);
    await controlled.run({ attemptId: 'attempt-2' });
    expect(controlled.script.of('codex.thread/resume')).toHaveLength(1);
  });
});

describe('the intent of a turn that broke off', () => {
  it.each<[string, TurnIntent]>([
    ['of this session', intentOf({ sessionId: SESSION_ID })],
    ['from before sessions were written down', intentOf({})],
  ])('%s puts its prompt into the session', async (_name, intent) => {
    const { controlled, notices } = await attempt({ intent });
    expect(JSON.stringify(controlled.session.messages())).toContain('asked elsewhere');
    expect(notices).toEqual([]);
  });

  it('of another session writes nothing into this one, is told, and is gone after the next turn', async () => {
    const { controlled, notices } = await attempt({ intent: intentOf({ sessionId: 'session-2' }) });
    expect(JSON.stringify(controlled.session.messages())).not.toContain('asked elsewhere');
    expect(controlled.script.of('codex.thread/read')).toEqual([]);
    expect(notices).toEqual([OTHER_TURN]);
    expect(controlled.session.state.intent).toBeNull();
  });

  it('is written with its session', async () => {
    const { controlled } = await attempt({});
    const written = controlled.script.of('journal.write');
    expect(written.length).toBeGreaterThan(0);
    for (const call of written) expect(call).toMatchObject({ sessionId: SESSION_ID });
  });
});

describe('a session that was changed under its thread', () => {
  it('starts a fresh thread, which gets what the session holds now', async () => {
    const { thread, reason, input, controlled } = await attempt({ binding: bindingOf({ seenEntryId: 'taken out' }) });
    expect({ thread, reason }).toEqual({ thread: 'codex.thread/start', reason: ['session-rewritten'] });
    expect(input).toContain('we began here');
    await controlled.run({ attemptId: 'attempt-2' });
    expect(controlled.script.of('codex.thread/resume')).toHaveLength(1);
  });

  it.each([
    ['the last row', 'entry-1', 'bound', false],
    ['an earlier row: the later ones are news', 'entry-0', 'bound', true],
    ['nobody knows which row: nothing is told again (BL-11)', null, 'bound', false],
  ])('is not one whose thread has seen %s', async (_name, seenEntryId, expected, isTold) => {
    const { reason, input } = await attempt({ binding: bindingOf({ seenEntryId }) });
    expect(reason).toEqual([expected]);
    expect(input.includes('and went on')).toBe(isTold);
    expect(input).not.toContain('we began here');
  });

  it('comes behind what else makes a thread unusable', () => {
    const binding = bindingOf({ seenEntryId: 'taken out' });
    const common = { binding, engine: null, assembly: null, promptChars: 0, entries: [] };
    expect(planThread({ ...common, toolFingerprint: 'other', forceStart: false }).reason).toBe('tools-changed');
    const toolFingerprint = binding.threads[0]?.toolFingerprint ?? '';
    expect(planThread({ ...common, toolFingerprint, forceStart: true }).reason).toBe('retry-on-fresh-thread');
    expect(planThread({ ...common, toolFingerprint, forceStart: false }).reason).toBe('session-rewritten');
  });
});

describe('rows that a thread has seen', () => {
  it.each(['text', 'taken out'])('of which an earlier one was changed (%s) mean a fresh thread', async (change) => {
    const controlled = controlledServices({ history: HISTORY, engine: null });
    await controlled.run({ attemptId: 'attempt-1' });
    expect(controlled.session.state.binding?.threads[0]?.seenHash).toMatch(/^[0-9a-f]{64}$/);
    const { entries } = controlled.session.state;
    if (change === 'text') {
      const [first] = entries;
      if (first !== undefined) entries[0] = { ...first, message: userRow('we began elsewhere') };
    } else entries.splice(1, 1);
    await controlled.run({ attemptId: 'attempt-2' });
    const reasons = controlled.logged('codex context engine projection decided').map((line) => line.fields['reason']);
    expect(reasons).toEqual(['no-binding', 'session-rewritten']);
  });

  it('and that are as they were keep the thread', async () => {
    const controlled = controlledServices({ history: HISTORY, engine: null });
    for (const attemptId of ['attempt-1', 'attempt-2', 'attempt-3']) await controlled.run({ attemptId });
    expect(controlled.script.of('codex.thread/start')).toHaveLength(1);
  });
});
