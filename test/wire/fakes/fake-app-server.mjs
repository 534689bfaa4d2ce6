// An app-server as far as its client can tell, that fails in the ways its environment asks for:
// FAKE       words: silent, refuse, nameless, foreign, garbage, array, exit, signal, flood, ignore-eof, ignore-term
// FAKE_ONCE  a file: the failures happen only while it does not exist
// FAKE_LOG   a file that gets a line for an initialize without an answer, and for each way it was asked to end
// FAKE_VERSION  the version it claims
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, existsSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const { FAKE = '', FAKE_ONCE, FAKE_LOG, FAKE_VERSION = '0.171.0' } = process.env;
const failing = FAKE_ONCE === undefined || !existsSync(FAKE_ONCE);
if (FAKE_ONCE !== undefined) writeFileSync(FAKE_ONCE, '');
const words = new Set(failing ? FAKE.split(' ') : []);

const note = (line) => FAKE_LOG !== undefined && appendFileSync(FAKE_LOG, `${line}\n`);
let mute = false;
const say = (message) => mute || writeSync(1, `${JSON.stringify(message)}\n`);
const flood = (megabytes) => {
  const line = `${'flood '.repeat(170)}\n`;
  for (let written = 0; written < megabytes * 1e6; written += line.length * 64) writeSync(2, line.repeat(64));
};

if (words.has('ignore-term')) process.on('SIGTERM', () => note('term'));
if (words.has('exit')) {
  writeSync(2, Array.from({ length: 7 }, (_, i) => `line ${i + 1}\n`).join(''));
  writeSync(2, '\u001b[31mERROR\u001b[0m key SECRET\u0007\n');
  process.exit(3);
}
if (words.has('signal')) process.kill(process.pid, 'SIGKILL');
if (words.has('garbage')) writeSync(1, 'Usage: SECRET\n');
if (words.has('array')) writeSync(1, '[1]\n');
if (words.has('flood')) flood(50);

const received = [];
const methods = {
  initialize: ({ clientInfo }) => {
    if (words.has('nameless')) return { codexHome: '/home' };
    const name = words.has('foreign') ? 'other' : clientInfo.name;
    return { userAgent: `${name}/${FAKE_VERSION} (Test 1; x86_64) (fake)`, codexHome: '/fake/home' };
  },
  echo: (params) => params,
  about: () => ({ pid: process.pid, argv: process.argv.slice(2), env: process.env, cwd: process.cwd(), received }),
  exit: ({ code }) => process.exit(code),
  signal: ({ signal }) => {
    process.kill(process.pid, signal);
  },
  lastWords: ({ size }) => {
    say({ method: 'last/words', params: { text: 'x'.repeat(size) } });
    process.exit(0);
  },
  flood: ({ megabytes }) => {
    flood(megabytes);
    return {};
  },
  closeOutput: () => {
    mute = true;
    closeSync(1);
  },
  closeInput: () => {
    lines.close();
    process.stdin.destroy();
    closeSync(0);
  },
  garble: () => {
    writeSync(1, 'half a line SECRET\n');
    return {};
  },
  child: ({ detached }) => ({
    pid: spawn('sleep', ['1000'], { detached, stdio: detached ? 'inherit' : 'ignore' }).pid,
  }),
};

// Texts of these tests hold no line separators of Unicode, so readline will do here.
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  received.push(message);
  const { id, method, params } = message;
  if (id === undefined) return;
  if (words.has('silent') && method === 'initialize') note('initialize');
  else if (words.has('refuse')) say({ id, error: { code: -32600, message: 'no SECRET for you' } });
  else {
    const result = methods[method]?.(params);
    if (result !== undefined) say({ id, result });
  }
});
process.stdin.on('end', () => {
  note('eof');
  if (!words.has('ignore-eof')) process.exit(0);
});
// Lives on whatever becomes of its pipes.
setInterval(() => {}, 1e6);
