import { beforeEach, describe, expect, it, vi } from 'vitest';
import { assistantRow, userRow } from '../../src/testing/controlled/messages.ts';
import { answer } from '../../src/testing/controlled/script.ts';
import { type ControlledSetup, controlledServices, PROMPT } from '../../src/testing/controlled/services.ts';
import { bindingOf } from '../../src/testing/controlled/session.ts';

/** A projection that throws (spec P5): only a fault of our own makes one, so it is planted. */

const broken = vi.hoisted(() => ({ times: 0 }));
vi.mock('../../src/projection/text.ts', async (original) => {
  const real = await original<typeof import('../../src/projection/text.ts')>();
  const breaking =
    <A extends unknown[], R>(project: (...args: A) => R) =>
    (...args: A): R => {
      if (broken.times > 0) {
        broken.times -= 1;
        throw new Error('planted');
      }
      return project(...args);
    };
  return {
    ...real,
    projectContextEngineAssemblyForCodex: breaking(real.projectContextEngineAssemblyForCodex),
    projectForeignRows: breaking(real.projectForeignRows),
  };
});

const HISTORY = [userRow('before'), assistantRow('then')];
const assembled = (epoch: string) =>
  answer({ messages: HISTORY, estimatedTokens: 2, contextProjection: { mode: 'thread_bootstrap', epoch } });

function controlled(epoch: string, bound: string) {
  const setup: ControlledSetup = {
    history: HISTORY,
    plan: { 'engine.assemble': assembled(epoch) },
    binding: bindingOf({ epoch: bound }),
  };
  return controlledServices(setup);
}

const inputOf = (params: unknown): unknown => (params as { input: { text: string }[] }).input[0]?.text;

beforeEach(() => {
  broken.times = 1;
});

describe('a projection that throws', () => {
  it('sends the original prompt on the planned fresh thread, which then holds no epoch', async () => {
    const { run, script, session } = controlled('e2', 'e1');
    const result = await run();
    expect(result).toMatchObject({
      outcome: 'completed',
      degraded: [{ state: 'projecting', code: 'projection_failed', message: 'planted' }],
    });
    expect(script.names().filter((name) => name === 'codex.thread/resume')).toEqual([]);
    expect(script.of('codex.turn/start').map(inputOf)).toEqual([PROMPT]);
    expect(session.state.binding?.threads[0]).toMatchObject({ threadId: 'thread-1', epoch: null });

    // The context is not lost: the next attempt projects it.
    await run();
    const last = script.of('codex.turn/start').map(inputOf).at(-1);
    expect(last).toContain('<conversation_context>');
  });

  it('keeps the epoch of a thread that it resumes', async () => {
    const { run, script, session } = controlled('e1', 'e1');
    expect(await run()).toMatchObject({ outcome: 'completed', degraded: [{ state: 'projecting' }] });
    expect(script.of('codex.thread/start')).toEqual([]);
    expect(session.state.binding?.threads[0]).toMatchObject({ epoch: 'e1' });
  });
});
