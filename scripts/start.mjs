// `npm start [-- PROMPT]`: one rehearsed attempt with the example engine, in a session that is gone afterwards. Needs no
// account and reads no stdin.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url));
const words = process.argv.slice(2);

if (!existsSync(main)) {
  console.error('npm start: nothing is built yet, run `npm ci` first');
  process.exit(1);
}

const folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-start-'));
const session = path.join(folder, 'session.jsonl');
const flags = ['--rehearse', '--progress', '--engine', 'example', '--session', session];
const prompt = words.length === 0 ? 'Say hello in one sentence.' : words.join(' ');
const child = spawn(process.execPath, [main, 'run', ...flags, '--', prompt], {
  stdio: ['ignore', 'inherit', 'inherit'],
  env: { ...process.env, CODEX_ATTEMPT_HOME: folder, CODEX_PATH: '' },
});
// A terminal sends Ctrl-C to the child too; what is left to do here is to wait and tidy up.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
const code = await new Promise((resolve) => {
  child.on('error', (error) => {
    console.error(`npm start: ${error.message}`);
    resolve(1);
  });
  child.on('exit', (status) => resolve(status ?? 1));
});
await rm(folder, { recursive: true, force: true });
process.exitCode = code;
