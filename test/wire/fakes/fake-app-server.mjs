// An app-server as far as its client can tell, that fails in the ways its environment asks for:
// FAKE       words: silent, refuse, nameless, foreign, garbage, array, exit, signal, flood, notices, ignore-eof, ignore-term
// FAKE_ONCE  a file: the failures happen only while it does not exist
// FAKE_LOG   a file that gets a line for an initialize without an answer, and for each way it was asked to end
// FAKE_VERSION  the version it claims
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, existsSync, writeFileSync, writeSync } from 'node:fs';

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
if (words.has('notices')) writeSync(2, 'ERROR something of the start\n');

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
  panic: ({ signal }) => {
    const frames = Array.from({ length: 300 }, (_, i) => `  ${i}: tokio::runtime::task\n             at /src/x.rs:1\n`);
    writeSync(2, `\nthread 'main' panicked at app/src/x.rs:1:2:\nboom SECRET\nstack backtrace:\n${frames.join('')}`);
    if (signal === undefined) process.exit(101);
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

// By the byte 0x0A: readline of newer Node versions also breaks lines at U+2028.
const chunks = [];
process.stdin.on('data', (chunk) => {
  let rest = chunk;
  for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
    chunks.push(rest.subarray(0, end));
    take(JSON.parse(Buffer.concat(chunks.splice(0)).toString('utf8')));
    rest = rest.subarray(end + 1);
  }
  chunks.push(rest);
});
function take(message) {
  received.push(message);
  const { id, method, params } = message;
  if (id === undefined) return;
  if (words.has('silent') && method === 'initialize') note('initialize');
  else if (words.has('refuse')) say({ id, error: { code: -32600, message: 'no SECRET for you' } });
  else {
    const result = methods[method]?.(params);
    if (result !== undefined) say({ id, result });
  }
}
// A test closes the descriptor under the stream.
process.stdin.on('error', (error) => note(error.code));
process.stdin.on('end', () => {
  note('eof');
  if (!words.has('ignore-eof')) process.exit(0);
});
// Lives on whatever becomes of its pipes.
setInterval(() => {}, 1e6);
