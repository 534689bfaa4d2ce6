// A turn that ends while one of its tools works: nobody waits for the tool, and it is told to stop.
import { describe, expect, it } from 'vitest';
import type { HostTool } from '../../src/ports.ts';
import { controlledServices } from '../../src/testing/controlled/services.ts';
import type { ControlledTurn } from '../../src/testing/controlled/turn.ts';

/** A tool that never answers; `told` is whether its signal has aborted. */
function busyTool() {
  let begun = (): void => {};
  const state = { told: false, begun: new Promise<void>((resolve) => (begun = resolve)) };
  const tool: HostTool = {
    name: 'busy',
    description: 'never answers',
    parameters: { type: 'object', properties: {} },
    execute: (_args, { signal }) => {
      signal.addEventListener('abort', () => {
        state.told = true;
      });
      begun();
      return new Promise(() => {});
    },
  };
  return { tool, state };
}

describe('a turn that ends while a tool works', () => {
  it.each([
    ['by an abort', 'aborted', (_turn: ControlledTurn, abort: () => void) => abort()],
    ['because the app-server is gone', 'failed', (turn: ControlledTurn) => turn.client.end(1)],
    ['because the model failed', 'failed', (turn: ControlledTurn) => turn.failed('the model broke')],
    ['as interrupted by somebody else', 'failed', (turn: ControlledTurn) => turn.interrupted()],
  ])('%s does not wait for it, and tells it', async (_how, outcome, end) => {
    const { tool, state } = busyTool();
    let running: ControlledTurn | null = null;
    const controlled = controlledServices({
      codex: {
        turns: [
          (turn) => {
            running = turn.started().user();
            void turn.tool('busy', {});
          },
        ],
      },
    });
    const run = controlled.start({}, { tools: [tool] });
    await state.begun;
    const turn = running as ControlledTurn | null;
    if (turn === null) throw new Error('no turn runs');
    end(turn, () => run.abort());
    // No simulated time passes: neither the drain budget nor a grace is waited for.
    expect((await run.result).outcome).toBe(outcome);
    expect(state.told).toBe(true);
  });
});
