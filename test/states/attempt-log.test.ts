import { describe, expect, it } from 'vitest';
import { compactSession } from '../../src/compact-session.ts';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer, fail, hang, pass } from '../../src/testing/controlled/script.ts';
import {
  type Controlled,
  type ControlledSetup,
  controlledServices,
  WORK_FOLDER,
} from '../../src/testing/controlled/services.ts';
import { bindingOf, SESSION_ID } from '../../src/testing/controlled/session.ts';
import { ControlledTurn } from '../../src/testing/controlled/turn.ts';

/** Log lines and trace of whole attempts (spec 11): what they say, and that they say nothing of anybody's text. */

const HISTORY = [userRow('before'), assistantRow('then')];
const WHO = { attemptId: 'attempt-1', sessionId: SESSION_ID, engineId: 'controlled' };
const WHERE = { ...WHO, threadId: 'thread-1', turnId: 'turn-1' };

const engineLines = (controlled: Controlled): { message: string; fields: object }[] =>
  controlled.log
    .filter((line) => line.message.startsWith('codex context engine') && !line.message.includes('projection'))
    .map(({ message, fields }) => ({ message, fields }));

async function linesOf(
  setup: ControlledSetup,
  wait?: [string, number],
): Promise<{ message: string; fields: object }[]> {
  const controlled = controlledServices({ history: HISTORY, ...setup });
  const run = controlled.start({ attemptId: 'attempt-1' });
  if (wait !== undefined) {
    await run.entered(wait[0]);
    await controlled.clock.advance(wait[1]);
  }
  await run.result;
  return engineLines(controlled);
}

const started = { message: 'codex context engine bootstrap started', fields: WHO };
const bootstrapped = { message: 'codex context engine bootstrap completed', fields: WHO };
const assembled = (more: object = {}) => ({
  message: 'codex context engine assemble applied',
  fields: {
    ...WHO,
    assembledMessageCount: 2,
    estimatedTokens: expect.any(Number),
    hasSystemPromptAddition: false,
    ...more,
  },
});
const finalized = (word: 'completed' | 'failed', method = 'afterTurn') => ({
  message: `codex context engine finalize ${word}`,
  fields: { ...WHERE, method },
});
const skipped = (reason: string, fields: object = WHERE) => ({
  message: 'codex context engine maintenance skipped',
  fields: { ...fields, reason },
});

describe('the log lines of the engine', () => {
  it('of a good turn', async () => {
    expect(await linesOf({})).toEqual([started, bootstrapped, assembled(), finalized('completed')]);
  });

  it.each<[string, ControlledSetup, [string, number] | undefined, object[]]>([
    [
      'a bootstrap that failed',
      { plan: { 'engine.bootstrap': fail('no') } },
      undefined,
      [started, { message: 'codex context engine bootstrap failed', fields: WHO }, assembled(), finalized('completed')],
    ],
    [
      'a bootstrap that hung',
      { plan: { 'engine.bootstrap': hang } },
      ['bootstrap.engine', 60_000],
      [started, { message: 'codex context engine bootstrap failed', fields: WHO }, assembled(), finalized('completed')],
    ],
    [
      'an addition, and the figures of the engine',
      {
        plan: {
          'engine.assemble': answer({ messages: HISTORY.slice(1), estimatedTokens: 77, systemPromptAddition: 'x' }),
        },
      },
      undefined,
      [
        started,
        bootstrapped,
        assembled({ assembledMessageCount: 1, estimatedTokens: 77, hasSystemPromptAddition: true }),
        finalized('completed'),
      ],
    ],
    [
      'an assemble that failed',
      { plan: { 'engine.assemble': fail('no') } },
      undefined,
      [started, bootstrapped, finalized('completed')],
    ],
    [
      'a finalizer that failed',
      { plan: { 'engine.afterTurn': fail('no') } },
      undefined,
      [started, bootstrapped, assembled(), finalized('failed'), skipped('not-finalized')],
    ],
    [
      'a finalizer that hung',
      { plan: { 'engine.afterTurn': hang } },
      ['finalizing', 60_000],
      [started, bootstrapped, assembled(), finalized('failed'), skipped('not-finalized')],
    ],
    [
      'a commit',
      { engine: { info: DURABLE_INFO, methods: DURABLE_METHODS } },
      undefined,
      [started, bootstrapped, assembled(), finalized('completed', 'commitTurn')],
    ],
    [
      'a failed turn',
      { codex: { turns: [(turn) => turn.started().failed('x')] } },
      undefined,
      [started, bootstrapped, assembled(), finalized('completed'), skipped('failed-turn')],
    ],
    [
      'a failure before the turn',
      { plan: { 'codex.connect': fail('x') } },
      undefined,
      [started, bootstrapped, assembled(), skipped('failed-turn', WHO)],
    ],
    [
      'an engine that has no maintenance',
      { engine: { methods: ['afterTurn'] } },
      undefined,
      [assembled(), finalized('completed'), skipped('not-offered')],
    ],
    [
      'maintenance that failed',
      { plan: { 'engine.maintain': [pass, fail('no')] } },
      undefined,
      [started, bootstrapped, assembled(), finalized('completed'), skipped('error')],
    ],
    ['no engine', { engine: null }, undefined, []],
  ])('of %s', async (_name, setup, wait, expected) => {
    expect(await linesOf(setup, wait)).toEqual(expected);
  });

  it('never hold the session key', async () => {
    const controlled = controlledServices({ history: HISTORY });
    await controlled.run({ sessionKey: 'agent:main:private-key-name' });
    expect(JSON.stringify([controlled.log, controlled.trace])).not.toContain('private-key-name');
  });
});

describe('no text of anybody in log and trace', () => {
  const SECRET = 'sk-canary0123456789abcdef';
  const text = (where: string) => `CANARY-${where} is what was said`;

  /** Every place that text can come from, in a turn that does everything and in turns where everything fails. */
  const everywhere = (plan: ControlledSetup['plan'] = {}): ControlledSetup => ({
    history: [userRow(text('history')), assistantRow(text('reply'))],
    tools: ['lookup'],
    toolResults: { lookup: text('tool-result') },
    promptBuild: { prependContext: text('hook'), appendSystemContext: text('hook-system') },
    engine: { assembly: { systemPromptAddition: text('addition') } },
    codex: {
      turns: [
        async (turn) => {
          turn
            .started()
            .user(text('echo'))
            .command(`echo ${text('command')}`, text('output'));
          await turn.tool('lookup', { q: text('argument') });
          turn.message(text('answer')).usage({ input: 10, output: 1 }).completed();
        },
      ],
    },
    plan,
  });

  it.each<[string, ControlledSetup['plan']]>([
    ['a good turn', {}],
    ['bootstrap fails', { 'engine.bootstrap': fail(`broken by key=${SECRET}`) }],
    ['assemble fails', { 'engine.assemble': fail(`Authorization: Bearer ${SECRET}`) }],
    ['the finalizer fails', { 'engine.afterTurn': fail(`token: ${SECRET}`) }],
    ['maintenance fails', { 'engine.maintain': fail(`api_key="${SECRET}"`) }],
    ['hooks fail', { 'hook.before_prompt_build': fail(SECRET), 'hook.agent_end': fail(SECRET) }],
    ['a tool fails', { 'tool.lookup': fail(`no: ${SECRET}`) }],
    ['the store fails', { 'transcript.append': fail(`cannot reach https://user:${SECRET}@host`) }],
    ['the journal fails', { 'journal.write': fail(SECRET), 'journal.clear': fail(SECRET) }],
    ['the session is not given back', { 'transcript.close': fail(SECRET) }],
    ['the app-server is not there', { 'codex.connect': fail(`spawn failed: ${SECRET}`) }],
    ['the thread is refused', { 'codex.thread/start': fail(`refused: ${SECRET}`) }],
    ['the turn is refused', { 'codex.turn/start': fail(`refused: ${SECRET}`) }],
  ])('%s', async (_name, plan) => {
    const controlled = controlledServices(everywhere(plan));
    const run = controlled.start({ prompt: text('prompt'), developerInstructions: text('base') });
    const result = await run.result;
    const said = JSON.stringify([controlled.log, controlled.trace]);
    expect(said).not.toContain('CANARY');
    expect(said).not.toContain(SECRET);
    // The answer is the answer; what explains a failure is clean.
    expect(JSON.stringify([result.degraded, result.error, result.finalization])).not.toMatch(/CANARY|canary/);
    const explained = run.events.filter(
      (event) => event.type === 'attempt.degraded' || event.type === 'attempt.notice',
    );
    expect(JSON.stringify(explained)).not.toMatch(/CANARY|canary/);
    const ends = controlled.script.of('hook.agent_end').map((params) => {
      const { event } = params as { event: { error?: object } };
      return event.error;
    });
    expect(JSON.stringify(ends)).not.toMatch(/CANARY|canary/);
  });

  it('the same places do reach the model, so the canaries are real', async () => {
    const controlled = controlledServices(everywhere());
    await controlled.run({ prompt: text('prompt'), developerInstructions: text('base') });
    const sent = JSON.stringify(controlled.script.calls.filter((call) => call.name.startsWith('codex.')));
    for (const where of ['history', 'reply', 'hook', 'hook-system', 'addition', 'prompt', 'base']) {
      expect(sent).toContain(text(where));
    }
    const kept = JSON.stringify(controlled.session.messages());
    for (const where of ['prompt', 'command', 'output', 'argument', 'tool-result', 'answer']) {
      expect(kept).toContain(text(where));
    }
  });
});

describe('the trace', () => {
  it('has exactly one enter and one exit per visit of every state, properly nested', async () => {
    for (const setup of [
      {},
      { plan: { 'codex.connect': fail('x') } },
      { engine: null },
      { codex: { turns: [(turn) => turn.started().failed('x')] } },
    ] satisfies ControlledSetup[]) {
      const controlled = controlledServices({ history: HISTORY, ...setup });
      const result = await controlled.run();
      const open: unknown[] = [];
      const visited: unknown[] = [];
      for (const event of controlled.trace) {
        if (event.type === 'state.enter') {
          open.push(event['state']);
          if (!String(event['state']).includes('.')) visited.push(event['state']);
        }
        if (event.type === 'state.exit') expect(open.pop()).toBe(event['state']);
      }
      expect(open).toEqual([]);
      expect(visited).toEqual(result.states);
      expect(controlled.trace.at(-1)).toMatchObject({ type: 'attempt.settled', outcome: result.outcome });
    }
  });
});

it('a native compaction beside that of the engine has a line of its own', async () => {
  const controlled = controlledServices({
    history: HISTORY,
    binding: bindingOf(),
    engine: { info: { ownsCompaction: true } },
  });
  const handle = compactSession({ attemptId: 'attempt-1', cwd: WORK_FOLDER }, controlled.services);
  await controlled.script.called('codex.thread/compact/start');
  const turn = new ControlledTurn(controlled.codex.client(), 'thread-9', 'turn-c');
  turn.started().item({ type: 'contextCompaction', id: 'compaction-1' });
  turn.completed();
  const result = await handle.result;
  expect(result).toMatchObject({ outcome: 'completed', ok: true, compacted: true });
  expect(controlled.logged('codex native compaction completed alongside context-engine compaction')).toEqual([
    {
      level: 'debug',
      message: 'codex native compaction completed alongside context-engine compaction',
      fields: { ...WHO, threadId: 'thread-9', turnId: 'turn-c' },
    },
  ]);
});
