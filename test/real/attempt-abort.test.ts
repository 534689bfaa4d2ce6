// An abort at any moment ends the attempt as aborted, within the graces, and leaves nothing running (spec M4, E3).
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptHandle, AttemptResult } from '../../src/attempt/types.ts';
import { HookRegistry } from '../../src/hooks/registry.ts';
import type { HostTool } from '../../src/ports.ts';
import { lastUserText, type ModelRequestBody } from '../../src/rehearsal/request.ts';
import type { RehearsalStep } from '../../src/rehearsal/script.ts';
import { sidePaths } from '../../src/transcript/side-folder.ts';
import { type EngineBehaviour, recordingEngine } from '../support/engines.ts';
import { gate, hanging } from '../support/gate.ts';
import { conversationOf } from '../support/model-requests.ts';
import { type RehearsalBench, type RehearsedSession, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  bench = await rehearsalBench();
});
afterAll(async () => {
  await bench.close();
  expect(bench.processes()).toEqual([]);
});

/** Of an idle machine: the graces together. */
const GRACES_MS = 2_000 + 1_000 + 2_000 + 1_000;

/** Aborts and waits; the end must come within the graces. */
async function aborted(handle: AttemptHandle): Promise<AttemptResult> {
  const from = performance.now();
  handle.abort();
  const result = await handle.result;
  expect(performance.now() - from).toBeLessThan(GRACES_MS);
  return result;
}

const bound = (session: RehearsedSession) => existsSync(sidePaths(session.sessionFile, 'rehearsal').binding);

describe('before the native turn', () => {
  it.each<[string, string, (hang: () => Promise<never>) => EngineBehaviour]>([
    ['the engine hangs in bootstrap', 'bootstrap', (hang) => ({ bootstrap: hang })],
    ['the engine hangs in bootstrap maintenance', 'bootstrap', (hang) => ({ maintain: hang })],
    ['the engine hangs in assemble', 'assembling', (hang) => ({ assemble: hang })],
  ])('while %s: no turn is started, nothing is written', async (_, state, behaviour) => {
    const session = await bench.session();
    await session.run({ prompt: 'one' });
    const before = await session.rows();
    const reached = gate();
    const { engine } = recordingEngine(
      behaviour(() => {
        reached.open();
        return hanging();
      }),
    );
    const handle = session.start({ prompt: 'two' }, { engine });
    await reached.opened;
    const result = await aborted(handle);
    expect(result).toMatchObject({ outcome: 'aborted', turnId: null, maintenance: { ran: false, reason: 'aborted' } });
    expect(result.error).toBeUndefined();
    expect(result.states.slice(-2)).toEqual([state, 'aborted']);
    expect(session.bodies()).toHaveLength(1);
    expect(await session.rows()).toEqual(before);
    // The session is free again and the thread is still bound.
    const next = await session.run({ prompt: 'three' });
    expect(next.result.outcome).toBe('completed');
    expect(conversationOf(session.lastBody()).map(([, text]) => text)).not.toContain('two');
  });

  it.each<[string, 'before_prompt_build' | 'llm_input', string]>([
    ['before_prompt_build', 'before_prompt_build', 'hook-build'],
    ['llm_input', 'llm_input', 'thread-start'],
  ])('while the hook %s hangs: no turn is started, no file is made, nothing is bound', async (_, name, state) => {
    const session = await bench.session();
    const hooks = new HookRegistry((text) => text);
    const reached = gate();
    const ends: unknown[] = [];
    hooks.register(name, () => {
      reached.open();
      return hanging();
    });
    hooks.register('agent_end', (event) => void ends.push(event));
    const handle = session.start({ prompt: 'one' }, { hooks });
    await reached.opened;
    const result = await aborted(handle);
    expect([result.outcome, result.states.slice(-2)]).toEqual(['aborted', [state, 'aborted']]);
    expect(session.bodies()).toEqual([]);
    expect([existsSync(session.sessionFile), bound(session)]).toEqual([false, false]);
    expect(ends).toMatchObject([{ outcome: 'aborted', success: false, aborted: true, timedOut: false }]);
  });

  it('at once: the session is left as it was', async () => {
    const session = await bench.session();
    const handle = session.start({ prompt: 'one' });
    const result = await aborted(handle);
    expect(result.outcome).toBe('aborted');
    expect(session.bodies()).toEqual([]);
    expect(existsSync(session.sessionFile)).toBe(false);
  });

  it('while the app-server starts: it does not stay behind', async () => {
    await bench.appServer.close();
    const session = await bench.session();
    const handle = session.start({ prompt: 'one' });
    const connecting = gate();
    handle.onEvent((event) => {
      if (event.type === 'attempt.state' && event.path === 'thread-start.connecting') connecting.open();
    });
    await connecting.opened;
    expect((await aborted(handle)).outcome).toBe('aborted');
    expect(session.bodies()).toEqual([]);
    await bench.appServer.close();
    expect(bench.processes()).toEqual([]);
  });

  it('with changed instructions given to the thread: the next attempt gives its own again', async () => {
    const session = await bench.session();
    await session.run({ prompt: 'one', developerInstructions: 'OLD' });
    const hooks = new HookRegistry((text) => text);
    const reached = gate();
    hooks.register('llm_input', () => {
      reached.open();
      return hanging();
    });
    const handle = session.start({ prompt: 'two', developerInstructions: 'NEW' }, { hooks });
    await reached.opened;
    expect((await aborted(handle)).outcome).toBe('aborted');
    await session.run({ prompt: 'three', developerInstructions: 'OLD' });
    const developer = conversationOf(session.lastBody()).filter(([role]) => role === 'developer');
    expect(developer.at(-1)?.[1]).toContain('OLD');
  });
});

describe('during the native turn', () => {
  it.each(['headers', 'first'] as const)(
    'while the model is silent (%s): the thread can be used again',
    async (stall) => {
      const asked = gate();
      const silent = () => {
        asked.open();
        return { text: 'x', stall };
      };
      const session = await bench.session([silent, { text: 'second' }]);
      const handle = session.start({ prompt: 'one' });
      await asked.opened;
      const result = await aborted(handle);
      expect(result).toMatchObject({ outcome: 'aborted', text: '', finalization: { method: 'none', ok: true } });
      expect(result.states.slice(-4)).toEqual(['turning', 'mirroring', 'finalizing', 'aborted']);
      expect((await session.rows()).map((row) => row.role)).toEqual(['user']);
      const next = await session.run({ prompt: 'two' });
      expect(next.result).toMatchObject({ outcome: 'completed', text: 'second' });
    },
  );

  it('what was said so far is mirrored as aborted and told to the engine', async () => {
    const session = await bench.session([{ text: 'the first half of an answer', deltas: 8, stall: 'mid' }]);
    const { engine, of } = recordingEngine({ afterTurn: () => {}, maintain: () => {} });
    const handle = session.start({ prompt: 'one' }, { engine });
    let said = '';
    const half = gate();
    handle.onEvent((event) => {
      if (event.type !== 'item.delta') return;
      said += event.delta;
      if (said.length > 8) half.open();
    });
    await half.opened;
    const result = await aborted(handle);
    expect(result.outcome).toBe('aborted');
    expect(result.text).toBe(said);
    expect('the first half of an answer'.startsWith(said)).toBe(true);
    const rows = await session.rows();
    expect(rows).toMatchObject([
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: [{ type: 'text', text: said }], stopReason: 'aborted' },
    ]);
    expect(of('afterTurn')).toMatchObject([{ messages: rows, runtimeContext: { turnOutcome: 'aborted' } }]);
    expect(of('maintain')).toEqual([]);
    expect(bound(session)).toBe(true);
  });

  it('just after turn/start was sent: the turn does not run on', async () => {
    // Whether the model is asked is a race; if it is, it is silent.
    const answer = (body: ModelRequestBody): RehearsalStep =>
      lastUserText(body) === 'one' ? { stall: 'headers' } : { text: 'second' };
    const session = await bench.session([answer, answer]);
    const handle = session.start({ prompt: 'one' });
    handle.onEvent((event) => {
      if (event.type === 'attempt.state' && event.state === 'turning') handle.abort();
    });
    const result = await handle.result;
    expect(result.outcome).toBe('aborted');
    await Promise.all(bench.model.requests.map((request) => request.ended));
    const next = await session.run({ prompt: 'two' });
    expect(next.result.outcome).toBe('completed');
    expect((await session.rows()).filter((row) => row.role === 'user')).toHaveLength(2);
  });

  it('on a thread that was not used last: the next turn on it is given its own instructions', async () => {
    const tools: HostTool[] = [
      { name: 'lookup', description: 'd', parameters: { type: 'object' }, execute: () => 'x' },
    ];
    const session = await bench.session();
    const main = await session.run({ prompt: 'one', developerInstructions: 'OLD' }, { tools });
    await session.run({ prompt: 'two', developerInstructions: 'OLD' });
    const handle = session.start({ prompt: 'three', developerInstructions: 'NEW' }, { tools });
    handle.onEvent((event) => {
      if (event.type === 'attempt.state' && event.state === 'turning') handle.abort();
    });
    expect((await handle.result).outcome).toBe('aborted');
    const next = await session.run({ prompt: 'four', developerInstructions: 'OLD' }, { tools });
    expect(next.result.threadId).toBe(main.result.threadId);
    const developer = conversationOf(session.lastBody()).filter(([role]) => role === 'developer');
    expect(developer.at(-1)?.[1]).toContain('OLD');
  });

  it('an abort while the finalizer hangs ends as completed, not maintained, and is not waited for', async () => {
    const session = await bench.session([{ text: 'the answer' }]);
    const reached = gate();
    const { engine } = recordingEngine({
      afterTurn: () => {
        reached.open();
        return hanging();
      },
      maintain: () => {},
    });
    const handle = session.start({ prompt: 'one' }, { engine });
    await reached.opened;
    const result = await aborted(handle);
    expect(result).toMatchObject({
      outcome: 'completed',
      text: 'the answer',
      finalization: { method: 'afterTurn', ok: false },
      maintenance: { ran: false, reason: 'aborted' },
    });
  });

  it('an abort while maintenance hangs ends as completed at once', async () => {
    const session = await bench.session([{ text: 'the answer' }]);
    const reached = gate();
    const { engine } = recordingEngine({
      afterTurn: () => {},
      maintain: () => {
        reached.open();
        return hanging();
      },
    });
    const handle = session.start({ prompt: 'one' }, { engine });
    await reached.opened;
    expect(await aborted(handle)).toMatchObject({
      outcome: 'completed',
      text: 'the answer',
      maintenance: { ran: false, reason: 'aborted' },
    });
  });
});
