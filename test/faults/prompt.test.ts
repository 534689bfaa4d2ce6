/** What the model is sent. The table of all faults is in faults/engine. */
import { describe, expect, it } from 'vitest';
import { instructionsHash } from '../../src/codex/threads.ts';
import type { HostTool } from '../../src/ports.ts';
import { CONTEXT_TITLE, REQUEST_LABEL } from '../../src/projection/neutralise.ts';
import { refusal, type TurnPlay } from '../../src/testing/controlled/codex.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { fail, pass } from '../../src/testing/controlled/script.ts';
import { type Controlled, controlledServices, PROMPT } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';
import { IMAGE_PLACEHOLDER } from '../../src/transcript/mirror.ts';

const HISTORY = [userRow('asked before'), assistantRow('answered before')];

const inputs = (controlled: Controlled): string[] =>
  controlled.script
    .of('codex.turn/start')
    .map((params) => (params as { input: { text: string }[] }).input.map((part) => part.text).join(''));

describe('BL-09: a retry on a fresh thread carries the context again', () => {
  const epoch = { contextProjection: { mode: 'thread_bootstrap', epoch: 'epoch-1' } };
  const bound = bindingOf({ engine: { id: 'controlled', policy: '[null,false,null,null,128000]' }, epoch: 'epoch-1' });

  it('after a thread that is gone', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      binding: bound,
      engine: { assembly: epoch },
      plan: { 'codex.thread/resume': fail(refusal('thread not found: thread-9')) },
    });
    await controlled.run();
    expect(inputs(controlled)).toEqual([expect.stringContaining('[user]\nasked before')]);
  });

  it('after an overflow that the engine made room for', async () => {
    const owner = { ownsCompaction: true };
    const controlled = controlledServices({
      history: HISTORY,
      binding: bindingOf({ engine: { id: 'controlled', policy: '[null,true,null,null,128000]' }, epoch: 'epoch-1' }),
      engine: { info: owner, assembly: epoch },
      codex: {
        turns: [(turn) => turn.started().failed('too large', 'contextWindowExceeded'), (turn) => turn.plain()],
      },
    });
    expect((await controlled.run()).outcome).toBe('completed');
    expect(inputs(controlled)).toEqual([PROMPT, expect.stringContaining('[user]\nasked before')]);
    expect(controlled.session.state.binding).toMatchObject({ threads: [{ threadId: 'thread-1', epoch: 'epoch-1' }] });
  });
});

it('BL-10: without an engine a fresh thread is given what was said before', async () => {
  const controlled = controlledServices({ history: HISTORY, engine: null });
  await controlled.run();
  expect(inputs(controlled)).toEqual([
    expect.stringContaining('[user]\nasked before\n\n[assistant]\nanswered before\n</conversation_context>'),
  ]);
});

describe('BL-11: a thread is not told again what it has', () => {
  const bound = bindingOf({ seenEntryId: 'entry-1' });

  it('resumed without an engine: only the prompt', async () => {
    const controlled = controlledServices({ history: HISTORY, engine: null, binding: bound });
    await controlled.run();
    await controlled.run({ attemptId: 'attempt-2' });
    expect(inputs(controlled)).toEqual([PROMPT, PROMPT]);
  });

  it('rows of another writer that came since are told, once', async () => {
    const controlled = controlledServices({
      history: [...HISTORY, userRow('from another harness')],
      engine: null,
      binding: bound,
    });
    await controlled.run();
    await controlled.run({ attemptId: 'attempt-2' });
    expect(inputs(controlled)[0]).toContain('[user]\nfrom another harness');
    expect(inputs(controlled)[0]).not.toContain('asked before');
    expect(inputs(controlled)[1]).toBe(PROMPT);
  });
});

it('BL-12: an assembly that fits the budget is not clipped', async () => {
  const text = 'word '.repeat(20_000).trim();
  const controlled = controlledServices({ history: [userRow(text)] });
  await controlled.run({ tokenBudget: 80_000 });
  const [input = ''] = inputs(controlled);
  expect({ whole: input.includes(text), marked: input.includes('omitted') }).toEqual({ whole: true, marked: false });
});

it('BL-13: what does not fit is cut from the old side, and the mark says so', async () => {
  const old = Array.from({ length: 10 }, (_, at) => userRow(`old ${at} ${'x'.repeat(6_000)}`));
  const controlled = controlledServices({ history: [...old, userRow('KEEP')] });
  await controlled.run({ tokenBudget: 8_000 });
  const [input = ''] = inputs(controlled);
  expect({
    newest: input.includes('[user]\nKEEP'),
    oldest: input.includes('old 0'),
    marked: /\[\d+ characters omitted from older context\]/.test(input),
    request: input.endsWith(`${REQUEST_LABEL}\n${PROMPT}`),
  }).toEqual({ newest: true, oldest: false, marked: true, request: true });
});

describe('BL-15: no input over the limit is ever sent', () => {
  it.each(['prependContext', 'appendContext'] as const)('%s of 1,100,000 characters', async (field) => {
    const controlled = controlledServices({ history: HISTORY, promptBuild: { [field]: 'h'.repeat(1_100_000) } });
    expect((await controlled.run()).outcome).toBe('completed');
    const [input = ''] = inputs(controlled);
    expect({ fits: [...input].length <= 1_048_576, prompt: input.includes(PROMPT) }).toEqual({
      fits: true,
      prompt: true,
    });
  });
});

describe('BL-16, BL-17: equal work gives equal bytes', () => {
  const tool = (name: string): HostTool => ({
    name,
    description: name,
    parameters: { type: 'object' },
    execute: () => '',
  });

  it('the order in which tools were found does not count', async () => {
    const payloads: string[] = [];
    for (const tools of [
      [tool('a'), tool('b'), tool('c')],
      [tool('c'), tool('a'), tool('b')],
    ]) {
      const controlled = controlledServices({ history: HISTORY });
      await controlled.run({}, { tools });
      payloads.push(
        JSON.stringify([controlled.script.of('codex.thread/start'), controlled.script.of('codex.turn/start')]),
      );
    }
    expect(payloads[1]).toBe(payloads[0]);
  });

  it('figures and ids of turns are in no instruction and no prompt', async () => {
    const sent: string[] = [];
    for (const [attemptId, figures] of [
      ['attempt-1', { input: 10, output: 1 }],
      ['attempt-2', { input: 99_999, output: 77 }],
    ] as const) {
      const controlled = controlledServices({
        codex: { turns: [(turn) => turn.started().message('same').usage(figures).completed()] },
        engine: { assembly: { systemPromptAddition: 'addition' } },
      });
      await controlled.run({ attemptId });
      await controlled.run({ attemptId: `${attemptId}-next` });
      sent.push(JSON.stringify(controlled.script.calls.filter(({ name }) => /^codex\.(?:thread|turn)\//.test(name))));
    }
    expect(sent[1]).toBe(sent[0]);
  });
});

it('BL-18: context for one turn is no part of what the user said, and does not come back', async () => {
  const controlled = controlledServices({ engine: null, promptBuild: { prependContext: 'C1: only for now' } });
  await controlled.run();
  expect(inputs(controlled)[0]).toContain('C1: only for now');
  expect(JSON.stringify(controlled.session.messages())).not.toContain('C1');
  const later = controlledServices({ history: controlled.session.messages() });
  await later.run({ attemptId: 'attempt-2' });
  expect(inputs(later)[0]).toContain(CONTEXT_TITLE);
  expect(inputs(later)[0]).not.toContain('C1');
});

describe('BL-48: a broken picture does not break every turn', () => {
  const picture = (data: string) => ({
    role: 'user' as const,
    content: [{ type: 'image' as const, data, mimeType: 'image/png' }],
    timestamp: 1,
  });

  it.each(['not base64', '', 'AAAA'])('%j in the history is a placeholder for engine and model', async (data) => {
    const controlled = controlledServices({ history: [picture(data)] });
    await controlled.run();
    expect(controlled.script.of('engine.assemble')).toMatchObject([
      { messages: [{ role: 'user', content: [{ type: 'text', text: IMAGE_PLACEHOLDER }] }] },
    ]);
    expect(inputs(controlled)[0]).toContain(IMAGE_PLACEHOLDER);
  });

  const failing =
    (message: string): TurnPlay =>
    (turn) =>
      turn.started().failed(message);

  it('a picture in the thread itself: the thread is not used again, the others stay', async () => {
    const other = bindingOf({ threadId: 'thread-8', toolFingerprint: 'others' }).threads;
    const bound = bindingOf({ instructionsHash: instructionsHash('') });
    const controlled = controlledServices({
      history: HISTORY,
      binding: { ...bound, threads: [...bound.threads, ...other] },
      codex: {
        turns: [failing('400: {"error":{"code":"invalid_image_url","message":"bad data"}}'), (turn) => turn.plain()],
      },
    });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code: 'invalid_image' } });
    expect(controlled.session.state.binding?.threads).toEqual(other);
    expect(await controlled.run({ attemptId: 'attempt-2' })).toMatchObject({
      outcome: 'completed',
      threadId: 'thread-1',
    });
  });

  it('a model that takes no pictures says nothing about the thread: it is kept', async () => {
    const controlled = controlledServices({
      history: HISTORY,
      binding: bindingOf(),
      codex: { turns: [failing('image input unsupported by this model')] },
      plan: { 'codex.thread/resume': pass },
    });
    expect(await controlled.run()).toMatchObject({ outcome: 'failed', error: { code: 'turn_failed' } });
    expect(controlled.session.state.binding?.threads).toMatchObject([{ threadId: 'thread-9' }]);
  });
});
