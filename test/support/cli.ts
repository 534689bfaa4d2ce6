/** Runs the built command line as a child process. `npm run build` comes first (`npm test` does it). */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, watch, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLI_MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export interface CliEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** On top of a bare environment with homes in the test's folder. */
  env?: Record<string, string>;
  /** What is piped in; `open`: a pipe that is never written and never closed. Default: an empty pipe. */
  stdin?: string | 'open';
  cwd?: string;
  /** What is run in place of the command line. */
  script?: string;
}

/** A child that runs. */
export interface CliChild {
  readonly child: ChildProcessWithoutNullStreams;
  /** When the process has ended and its output is read. */
  readonly ended: Promise<CliEnd>;
  /** When `stdout` or `stderr` holds the text. Rejects when the process ends without it. */
  sees(stream: 'stdout' | 'stderr', text: string): Promise<void>;
}

/** A folder of one test, and the children that were started in it. */
export interface CliBench {
  readonly folder: string;
  at(...names: string[]): string;
  start(args: readonly string[], options?: CliOptions): CliChild;
  run(args: readonly string[], options?: CliOptions): Promise<CliEnd>;
  /** Ends every child by its pid and takes the folder away. */
  close(): Promise<void>;
}

export async function openBench(): Promise<CliBench> {
  const folder = await mkdtemp(path.join(tmpdir(), 'codex-attempt-cli-'));
  const at = (...names: string[]): string => path.join(folder, ...names);
  await mkdir(at('codex-home'));
  const children: CliChild[] = [];

  function start(args: readonly string[], options: CliOptions = {}): CliChild {
    const child = spawn(process.execPath, [options.script ?? CLI_MAIN, ...args], {
      cwd: options.cwd ?? folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        CODEX_HOME: at('codex-home'),
        CODEX_ATTEMPT_HOME: at('home'),
        ...options.env,
      },
    });
    const text = { stdout: '', stderr: '' };
    const waits = new Set<() => void>();
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (chunk: string) => {
        text[stream] += chunk;
        for (const look of waits) look();
      });
    }
    // The child may end before it has read its stdin.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
    if (options.stdin !== 'open') child.stdin.end(options.stdin ?? '');
    const ended = new Promise<CliEnd>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal, ...text }));
    });
    const sees = (stream: 'stdout' | 'stderr', wanted: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!text[stream].includes(wanted)) return;
          waits.delete(look);
          resolve();
        };
        waits.add(look);
        look();
        ended.then(
          () => reject(new Error(`ended without ${JSON.stringify(wanted)}: ${text.stdout}${text.stderr}`)),
          reject,
        );
      });
    const started = { child, ended, sees };
    children.push(started);
    return started;
  }

  return {
    folder,
    at,
    start,
    run: (args, options) => start(args, options).ended,
    async close() {
      for (const { child, ended } of children) {
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
        await ended;
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The lines of NDJSON, parsed. */
export function ndjson(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The last line of a `--json` run. */
export function settledOf(end: CliEnd): Record<string, unknown> {
  return ndjson(end.stdout).at(-1) ?? {};
}

/** A session file with one rehearsed exchange, as another run has left it. */
export const SESSION_TEXT = [
  { type: 'session', version: 3, id: 'session-1', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' },
  {
    type: 'message',
    id: 'row-1',
    parentId: null,
    timestamp: '2026-01-01T00:00:01.000Z',
    message: { role: 'user', content: [{ type: 'text', text: 'first question' }], timestamp: 1 },
  },
  {
    type: 'message',
    id: 'row-2',
    parentId: 'row-1',
    timestamp: '2026-01-01T00:00:02.000Z',
    message: {
      role: 'assistant',
      content: [{ type: 'text', text: 'first answer' }],
      api: 'openai-responses',
      provider: 'rehearsal',
      model: 'rehearsal-1',
      usage: {
        input: 1,
        output: 1,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 2,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      stopReason: 'stop',
      timestamp: 2,
    },
  },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

/** Waits until a file is there and holds a text. */
export async function fileHolds(file: string, text: string): Promise<string> {
  const stop = new AbortController();
  try {
    // The watch is on before the first look, so that no change is missed.
    const changes = watch(path.dirname(file), { signal: stop.signal });
    const first = await readFile(file, 'utf8').catch(() => '');
    if (first.includes(text)) return first;
    for await (const _ of changes) {
      const now = await readFile(file, 'utf8').catch(() => '');
      if (now.includes(text)) return now;
    }
    throw new Error(`${file} never held ${text}`);
  } finally {
    stop.abort();
  }
}

/** Gives the user's Codex a provider that is this model. `needsLogin`: it is not asked without credentials. */
export function writeProvider(bench: CliBench, model: { baseUrl: string }, needsLogin: boolean): Promise<void> {
  return writeFile(
    bench.at('codex-home', 'config.toml'),
    `model = "rehearsal-1"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n` +
      `base_url = ${JSON.stringify(model.baseUrl)}\nwire_api = "responses"\nrequires_openai_auth = ${needsLogin}\n`,
  );
}
