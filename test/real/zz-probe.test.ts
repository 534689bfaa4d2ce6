import { test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { rehearsalBench } from '../support/rehearsed.ts';
import { conversationOf } from '../support/model-requests.ts';
test('probe mcp', async () => {
  const bench = await rehearsalBench({configOverrides: {
    'mcp_servers.echo.command': JSON.stringify(process.execPath),
    'mcp_servers.echo.args': JSON.stringify([fileURLToPath(new URL('../fixtures/mcp-echo.mjs', import.meta.url))]),
  }});
  const s = await bench.session([(b) => { console.log(JSON.stringify((b.tools as any[]).map((t) => [t.type, t.name, t.tools?.map((x: any) => x.name)]))); return { toolCalls: [{ name: 'echo', namespace: 'mcp__echo', arguments: { text: 'hi' } }] }; }, { text: 'done' }]);
  for (const sandbox of ['workspace-write'] as const) {
  const { result, events } = await s.run({ prompt: 'one', sandbox });
  console.log(JSON.stringify(result), JSON.stringify(conversationOf(s.lastBody())));
  console.log(JSON.stringify(events.filter((e) => e.type.startsWith('item'))));
  }
  await bench.close();
});
test('probe cold compaction', async () => {
  const bench = await rehearsalBench();
  const s = await bench.session([{ text: 'first', usage: { inputTokens: 262000, outputTokens: 10 } }]);
  await s.run({ prompt: 'one', developerInstructions: 'A' });
  await bench.appServer.close();
  await s.run({ prompt: 'two', developerInstructions: 'B' });
  console.log(JSON.stringify(conversationOf(s.lastBody()), null, 1));
  await bench.close();
});
