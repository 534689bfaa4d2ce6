import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DURABLE_INFO, DURABLE_METHODS } from '../../src/testing/controlled/engine.ts';
import { controlledServices } from '../../src/testing/controlled/services.ts';
import { openSessionStore } from '../../src/transcript/store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'codex-attempt-adopted-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Another program has written the prompt already, without a key of ours (BL-31). */
it('commits a turn whose prompt row was there already, and writes no second one', async () => {
  const sessionFile = join(folder, 'session.jsonl');
  const entry = (id: string, parentId: string | null, message: unknown) =>
    JSON.stringify({ type: 'message', id, parentId, timestamp: '2026-01-01T00:00:00.000Z', message });
  const lines = [
    JSON.stringify({ type: 'session', version: 3, id: 's', timestamp: '2026-01-01T00:00:00.000Z', cwd: folder }),
    entry('a', null, { role: 'user', content: [{ type: 'text', text: 'hello' }], timestamp: 1 }),
  ];
  await writeFile(sessionFile, `${lines.join('\n')}\n`);

  const controlled = controlledServices({ engine: { info: DURABLE_INFO, methods: DURABLE_METHODS } });
  const session = openSessionStore({ sessionFile, realm: 'live', cwd: folder, clock: controlled.clock });
  const result = await controlled.run({ prompt: 'hello' }, { session });
  expect(result.finalization).toEqual({ method: 'commitTurn', ok: true });

  const rows = (await readFile(sessionFile, 'utf8'))
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line));
  expect(rows.map((row) => row.message.role)).toEqual(['user', 'assistant']);
  const [commit] = controlled.script.of('engine.commitTurn') as { admission: unknown; messages: unknown[] }[];
  expect(commit?.admission).toMatchObject({ entryId: 'a', activeMessagePosition: 0 });
  expect(commit?.messages).toEqual(rows.map((row) => row.message));
});
