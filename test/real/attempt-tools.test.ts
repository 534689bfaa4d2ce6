// Tools of the host, approvals and usage on the real app-server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostTool } from '../../src/ports.ts';
import { recordingEngine } from '../support/engines.ts';
import { gate, hanging } from '../support/gate.ts';
import { conversationOf } from '../support/model-requests.ts';
import { type RehearsalBench, rehearsalBench } from '../support/rehearsed.ts';

let bench: RehearsalBench;
beforeAll(async () => {
  const server = fileURLToPath(new URL('../fixtures/mcp-echo.mjs', import.meta.url));
  bench = await rehearsalBench({
    configOverrides: {
      'mcp_servers.echo.command': JSON.stringify(process.execPath),
      'mcp_servers.echo.args': JSON.stringify([server]),
    },
  });
});
afterAll(() => bench.close());

const tool = (name: string, execute: HostTool['execute']): HostTool => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
  execute,
});

describe('a tool of the host', () => {
  it('is called with its arguments, the model reads its text, and the call is mirrored', async () => {
    const session = await bench.session([
      { toolCalls: [{ name: 'lookup', arguments: { word: 'x' } }] },
      { text: 'it means y' },
    ]);
    const asked: unknown[] = [];
    const lookup = tool('lookup', (args) => {
      asked.push(args);
      return 'x means y';
    });
    const { result } = await session.run({ prompt: 'what is x' }, { tools: [lookup] });
    expect([result.outcome, result.text, result.replaySafe]).toEqual(['completed', 'it means y', false]);
    expect(asked).toEqual([{ word: 'x' }]);
    expect(conversationOf(session.lastBody())).toEqual([
      ['user', 'what is x'],
      ['function_call', 'lookup'],
      ['function_call_output', 'x means y'],
    ]);
    const rows = await session.rows();
    expect(rows.map((row) => row.role)).toEqual(['user', 'assistant', 'toolResult', 'assistant']);
    expect(rows[2]).toMatchObject({ toolName: 'lookup', isError: false, content: [{ text: 'x means y' }] });
  });

  it('that throws fails the call with a text that the model reads, secrets taken out; the turn goes on', async () => {
    const session = await bench.session([{ toolCalls: [{ name: 'lookup' }] }, { text: 'sorry' }]);
    const lookup = tool('lookup', () => {
      throw new Error('refused for token=abcdefghijklmnop1234');
    });
    const { result } = await session.run({ prompt: 'go' }, { tools: [lookup] });
    expect([result.outcome, result.text]).toEqual(['completed', 'sorry']);
    const [, output = ''] = conversationOf(session.lastBody()).at(-1) ?? [];
    expect(output).toContain('refused for');
    expect(output).not.toContain('abcdefghijklmnop1234');
  });

  it('that yields ends the turn as yielded, its text mirrored; the thread goes on next time', async () => {
    const session = await bench.session([
      { commentary: 'I wait.', toolCalls: [{ name: 'wait_for_mail' }] },
      { text: 'must not be asked for' },
    ]);
    const wait = tool('wait_for_mail', () => ({ text: 'waiting', yield: true }));
    const { result } = await session.run({ prompt: 'one' }, { tools: [wait] });
    expect(result).toMatchObject({ outcome: 'yielded', finalization: { method: 'none', ok: true } });
    expect(result.error).toBeUndefined();
    expect(result.states.slice(-4)).toEqual(['turning', 'mirroring', 'finalizing', 'yielded']);
    const rows = await session.rows();
    expect(rows.map((row) => row.role)).toEqual(['user', 'assistant', 'assistant', 'toolResult']);
    const next = await session.run({ prompt: 'two' }, { tools: [wait] });
    expect(next.result).toMatchObject({ outcome: 'completed', threadId: result.threadId });
  });

  it('that hangs at an abort does not hold the attempt', async () => {
    const session = await bench.session([{ toolCalls: [{ name: 'hang' }] }]);
    const signals: AbortSignal[] = [];
    const called = gate();
    const hang = tool('hang', (_, { signal }) => {
      signals.push(signal);
      called.open();
      return hanging();
    });
    const handle = session.start({ prompt: 'one' }, { tools: [hang] });
    await called.opened;
    handle.abort();
    expect((await handle.result).outcome).toBe('aborted');
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
  });
});

describe('what would need an approval', () => {
  it('is refused without asking: the command does not run, the model is told, the turn goes on', async () => {
    const escalated = (file: string) => ({
      name: 'exec_command',
      arguments: { cmd: `touch ${file}`, sandbox_permissions: 'require_escalated', justification: 'please' },
    });
    const session = await bench.session([{ toolCalls: [escalated('made')] }, { text: 'then not' }]);
    const { result } = await session.run({ prompt: 'one' });
    expect([result.outcome, result.text]).toEqual(['completed', 'then not']);
    expect(existsSync(join(session.folder, 'made'))).toBe(false);
    const [kind, output = ''] = conversationOf(session.lastBody()).at(-1) ?? [];
    expect(kind).toBe('function_call_output');
    expect(output).toMatch(/approval|escalat|reject/i);
    expect(result.deniedApprovals).toEqual([]);
  });

  it('an MCP tool that changes things is not called either', async () => {
    const call = { name: 'echo', namespace: 'mcp__echo', arguments: { text: 'hi' } };
    const session = await bench.session([{ toolCalls: [call] }, { text: 'no' }]);
    const { result } = await session.run({ prompt: 'one', sandbox: 'workspace-write' });
    expect([result.outcome, result.text]).toEqual(['completed', 'no']);
    const [kind, output = ''] = conversationOf(session.lastBody()).at(-1) ?? [];
    expect([kind, output]).toEqual(['function_call_output', expect.stringContaining('requires approval')]);
    expect(output).not.toContain('echo of hi');
  });

  it('a patch outside of what the sandbox lets through changes nothing', async () => {
    const patch = '*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch\n';
    const session = await bench.session([{ toolCalls: [{ name: 'apply_patch', arguments: patch }] }, { text: 'no' }]);
    const { result } = await session.run({ prompt: 'one' });
    expect([result.outcome, result.text]).toEqual(['completed', 'no']);
    expect(existsSync(join(session.folder, 'made.txt'))).toBe(false);
  });
});

describe('usage', () => {
  it('of a turn is the sum of its requests, cached tokens counted once, and reaches the engine', async () => {
    const session = await bench.session([
      {
        toolCalls: [{ name: 'lookup' }],
        usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, reasoningOutputTokens: 4 },
      },
      { text: 'done', usage: { inputTokens: 150, cachedInputTokens: 100, outputTokens: 20 } },
      { text: 'again', usage: { inputTokens: 200, cachedInputTokens: 120, outputTokens: 5 } },
    ]);
    const lookup = tool('lookup', () => 'x');
    const { engine, of } = recordingEngine({ afterTurn: () => {} });
    const one = await session.run({ prompt: 'one' }, { engine, tools: [lookup] });
    expect(one.result.usage).toEqual({
      inputTokens: 250,
      cachedInputTokens: 140,
      outputTokens: 30,
      reasoningOutputTokens: 4,
      totalTokens: 280,
    });
    const last = { input: 50, output: 20, cacheRead: 100, cacheWrite: 0, total: 170 };
    expect(of('afterTurn')[0]).toMatchObject({
      runtimeContext: { lastCallUsage: last, currentTokenCount: 150, promptCache: { lastCallUsage: last } },
    });
    const rows = (await session.rows()).flatMap((row) => (row.role === 'assistant' ? [row.usage] : []));
    expect(rows).toMatchObject([
      { input: 60, output: 10, cacheRead: 40, totalTokens: 110 },
      { input: 50, output: 20, cacheRead: 100, totalTokens: 170 },
    ]);
    // A resumed thread repeats the figures of its last turn: they are not counted again, also in a new process.
    await bench.appServer.close();
    const two = await session.run({ prompt: 'two' }, { engine, tools: [lookup] });
    expect(two.result.usage).toEqual({
      inputTokens: 200,
      cachedInputTokens: 120,
      outputTokens: 5,
      reasoningOutputTokens: 0,
      totalTokens: 205,
    });
  });

  it('that tells no cache leaves the prompt cache unknown', async () => {
    const session = await bench.session([{ text: 'one', usage: { inputTokens: 10, outputTokens: 1 } }]);
    const { engine, of } = recordingEngine({ afterTurn: () => {} });
    await session.run({ prompt: 'one' }, { engine });
    expect(of('afterTurn')[0]?.['runtimeContext']).not.toHaveProperty('promptCache');
  });
});
