/**
 * The offline model: a server of the OpenAI Responses API on the loopback that answers from a script. It listens on a
 * port of the system's choice, under a path that cannot be guessed, and only for requests that name it by its address.
 */

import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { AttemptError, messageOf } from '../errors.ts';
import { openPrivateFile } from '../observe/private-file.ts';
import type { Clock } from '../ports.ts';
import { systemClock } from '../system-clock.ts';
import { httpError } from './answer.ts';
import { REHEARSAL_MODEL } from './home.ts';
import { createPlayer, type PlayedAnswer } from './player.ts';
import type { ModelRequestBody } from './request.ts';
import type { RehearsalScript } from './script.ts';
import { encodeSse } from './sse.ts';

/** A model request as it came. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  at: number;
  headers: Readonly<IncomingHttpHeaders>;
  body: ModelRequestBody;
  /** How it ended: wholly answered, cut by the script, or left by the client (or by `close`). Never rejects. */
  ended: Promise<'answered' | 'dropped' | 'left'>;
}

export interface RehearsalModelOptions {
  /** Default: every request gets the default answer. */
  script?: RehearsalScript;
  /** Takes each request body before it is answered: a function, or a file that gets one line of JSON per body. */
  recordTo?: ((body: ModelRequestBody) => void) | string;
  /** For the pauses of `delayMs`. Default: the system's. */
  clock?: Clock;
}

export interface RehearsalModel {
  /** What Codex takes as `base_url`; ends with `/v1`, without a slash. */
  readonly baseUrl: string;
  /** Every model request so far, in the order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Ends all connections, also stalled ones. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the offline model (design 7). The file of `recordTo` is appended to, with mode 0600. Rejects with AttemptError
 * `usage` when it cannot be opened.
 */
export async function startRehearsalModel(options: RehearsalModelOptions = {}): Promise<RehearsalModel> {
  const clock = options.clock ?? systemClock;
  const play = createPlayer(options.script ?? { steps: [] });
  const recorder = openRecorder(options.recordTo);
  const requests: RecordedRequest[] = [];
  const prefix = `/${randomBytes(18).toString('base64url')}/v1`;
  let hosts: readonly string[] = [];

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0];
    if (!hosts.includes(request.headers.host ?? '')) return refuse(response, 403, 'wrong_host');
    if (path === `${prefix}/models` && request.method === 'GET') {
      return sendJson(response, 200, { object: 'list', data: [{ id: REHEARSAL_MODEL, object: 'model' }], models: [] });
    }
    if (path !== `${prefix}/responses`) return refuse(response, 404, 'not_found');
    // Codex tries a WebSocket first; 426 sends it to HTTP at once.
    if (request.method === 'GET') return refuse(response, 426, 'upgrade_required');
    if (request.method !== 'POST') return refuse(response, 404, 'not_found');

    const body = parseBody(await readAll(request));
    if (body === null) return refuse(response, 400, 'invalid_json');
    let dropped = false;
    const ended = new Promise<'answered' | 'dropped' | 'left'>((resolve) => {
      response.once('close', () => resolve(dropped ? 'dropped' : response.writableFinished ? 'answered' : 'left'));
    });
    requests.push({ at: clock.now(), headers: request.headers, body, ended });
    recorder.record(body);
    const played = play(body);
    if ((await send(response, played, clock)) === 'drop') {
      dropped = true;
      response.destroy();
    }
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      // A step function or the record file failed: the caller must see it, not wait for it.
      if (response.headersSent) response.destroy();
      else sendPlain(response, httpError(500, 'rehearsal_failed', messageOf(error)));
    });
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  hosts = [`127.0.0.1:${port}`, `localhost:${port}`];

  let closing: Promise<void> | null = null;
  return {
    baseUrl: `http://127.0.0.1:${port}${prefix}`,
    requests,
    close() {
      closing ??= new Promise((resolve) => {
        server.close(() => {
          recorder.close();
          resolve();
        });
        server.closeAllConnections();
      });
      return closing;
    },
  };
}

/** Sends an answer as far as it goes. A stall sends nothing more and leaves the rest to the client. */
async function send(response: ServerResponse, played: PlayedAnswer, clock: Clock): Promise<'done' | 'stall' | 'drop'> {
  const { step, answer } = played;
  const delayMs = step.delayMs ?? 0;
  await pause(response, clock, delayMs);
  if (answer.kind === 'http') {
    sendPlain(response, answer);
    return 'done';
  }
  if (step.stall === 'headers') return 'stall';
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  for (const event of answer.events.slice(0, answer.cut ?? answer.events.length)) {
    if (event.type === 'response.output_text.delta') await pause(response, clock, delayMs);
    if (response.destroyed) return 'done';
    await write(response, encodeSse(event));
  }
  if (answer.cut === null) response.end();
  else return step.drop === true ? 'drop' : 'stall';
  return 'done';
}

/** Resolves once the bytes are handed over, so that a cut comes after them; also when the client is gone. */
function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('close', done);
      resolve();
    };
    response.once('close', done);
    response.write(text, done);
  });
}

/** Waits, at most until the client leaves. */
function pause(response: ServerResponse, clock: Clock, ms: number): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clock.clearTimeout(timer);
      response.off('close', done);
      resolve();
    };
    const timer = clock.setTimeout(done, ms);
    response.once('close', done);
  });
}

function sendPlain(response: ServerResponse, answer: { status: number; contentType: string; body: string }): void {
  response.writeHead(answer.status, { 'content-type': answer.contentType });
  response.end(answer.body);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendPlain(response, { status, contentType: 'application/json', body: JSON.stringify(value) });
}

function refuse(response: ServerResponse, status: number, code: string): void {
  sendJson(response, status, { error: { code, message: `The rehearsal model does not serve this (${code})` } });
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parseBody(text: string): ModelRequestBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ModelRequestBody) : null;
  } catch (error) {
    // Anything else than broken JSON is a fault of ours.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

interface Recorder {
  record(body: ModelRequestBody): void;
  close(): void;
}

function openRecorder(recordTo: RehearsalModelOptions['recordTo']): Recorder {
  if (typeof recordTo === 'function') return { record: recordTo, close: () => undefined };
  if (recordTo === undefined) return { record: () => undefined, close: () => undefined };
  let fd: number;
  try {
    fd = openPrivateFile(recordTo, 'a');
  } catch (error) {
    throw new AttemptError('usage', `Cannot write requests to ${recordTo}: ${messageOf(error)}`, { cause: error });
  }
  return { record: (body) => appendFileSync(fd, `${JSON.stringify(body)}\n`), close: () => closeSync(fd) };
}
