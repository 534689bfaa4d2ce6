import type { Readable, Writable } from 'node:stream';
import { AttemptError, messageOf } from '../errors.ts';
import type { Clock, Logger, RequestOptions, ServerNotification, ServerRequest } from '../ports.ts';
import { isRpcError, RPC_CODES, RpcError } from './errors.ts';
import { encodeJsonLine, isJsonObject, JsonLineDecoder, type JsonObject, type MalformedLine } from './jsonl.ts';

/** Milliseconds that a request waits for its answer when its caller does not say. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;

/** Requests under way at one time. The app-server leaves some of larger bursts without any answer. */
export const MAX_REQUESTS_IN_FLIGHT = 100;

export interface RpcPeerOptions {
  /** What the server writes. */
  input: Readable;
  /** What the server reads. */
  output: Writable;
  clock: Clock;
  logger: Logger;
  /** Applied to error texts before they are logged or sent. */
  redact: (text: string) => string;
  /** A sentence on what became of the server, for the errors of requests that it can no longer answer. */
  describeEnd: () => string;
  onMalformed: (line: MalformedLine) => void;
  /** Called once, when no further request can be answered although `finish` was not called. */
  onBroken: () => void;
}

type Id = number | string;
type NotificationListener = (notification: ServerNotification) => void;
type RequestHandler = (request: ServerRequest) => Promise<unknown> | undefined;

interface Call {
  id: number;
  method: string;
  line: string;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  /** Takes the timer and the abort listener away. */
  release: () => void;
}

/**
 * One end of the app-server's JSON-RPC, which has no `jsonrpc` member. Ids of ours count from 1, ids of the server
 * from 0. Everything that one chunk brings is handed out before `await`ing callers go on, so a listener has to be there
 * before the request whose notifications it wants.
 *
 * open → closing (nothing more is sent, answers still come) → ended (the server's output is over).
 */
export class RpcPeer {
  readonly #options: RpcPeerOptions;
  readonly #inFlight = new Map<number, Call>();
  readonly #listeners = new Set<NotificationListener>();
  readonly #handlers = new Set<RequestHandler>();
  #waiting: Call[] = [];
  #nextId = 1;
  #state: 'open' | 'closing' | 'ended' = 'open';

  constructor(options: RpcPeerOptions) {
    this.#options = options;
    const decoder = new JsonLineDecoder((message) => this.#receive(message), options.onMalformed);
    options.input.on('data', (chunk: Buffer) => {
      if (this.#state !== 'ended') decoder.push(chunk);
    });
    const over = (): void => {
      if (this.#state === 'ended') return;
      decoder.end();
      this.end();
    };
    options.input.on('end', over);
    options.input.on('close', over);
    options.input.on('error', (error) => {
      this.#log('reading from codex app-server failed', error);
      over();
    });
    options.output.on('drain', () => this.#pump());
    // Answers that the server has written before it broke off are still in the input, so only sending stops.
    options.output.on('error', (error) => {
      this.#log('writing to codex app-server failed', error);
      this.#stopSending(true);
    });
    options.output.on('close', () => this.#stopSending(true));
  }

  /** Whether requests are taken. */
  get open(): boolean {
    return this.#state === 'open';
  }

  /** See `CodexClient.request`. Requests over the limit wait in order; their timeout runs meanwhile. */
  request(method: string, params: JsonObject, options: RequestOptions = {}): Promise<unknown> {
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) throw aborted(method, signal);
      if (this.#state !== 'open') throw this.#gone(method);
      const id = this.#nextId++;
      const line = encodeJsonLine({ id, method, params });
      const fail = (error: AttemptError): void => {
        this.#drop(call);
        call.reject(error);
        this.#pump();
      };
      const onAbort = (): void => fail(aborted(method, signal));
      const timer = clock.setTimeout(() => {
        const message = `codex app-server did not answer ${method} within ${timeoutMs} ms`;
        fail(new AttemptError('request_timeout', message, { data: { method, timeoutMs } }));
      }, timeoutMs);
      const release = (): void => {
        clock.clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const call: Call = { id, method, line, resolve, reject, release };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(call);
      this.#pump();
    });
  }

  /** Sends a notification; dropped when nothing can be sent any more. */
  notify(method: string, params: JsonObject = {}): void {
    this.#send(encodeJsonLine({ method, params }));
  }

  /** See `CodexClient.onNotification`. */
  onNotification(listener: NotificationListener): () => void {
    // A wrapper: the same function registered twice is two listeners.
    const entry: NotificationListener = (notification) => listener(notification);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** See `CodexClient.onServerRequest`. */
  onServerRequest(handler: RequestHandler): () => void {
    const entry: RequestHandler = (request) => handler(request);
    this.#handlers.add(entry);
    return () => void this.#handlers.delete(entry);
  }

  /** Closes the server's input after what is already written. May be called twice. */
  finish(): void {
    this.#stopSending(false);
    this.#options.output.end();
  }

  /** The server is gone: every request under way rejects at once. May be called twice. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#stopSending(true);
    this.#state = 'ended';
    for (const call of [...this.#inFlight.values()]) {
      this.#drop(call);
      call.reject(this.#gone(call.method));
    }
    this.#listeners.clear();
    this.#handlers.clear();
  }

  #stopSending(broken: boolean): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) {
      call.release();
      call.reject(this.#gone(call.method));
    }
    if (broken) this.#options.onBroken();
  }

  #pump(): void {
    const { output } = this.#options;
    while (this.#inFlight.size < MAX_REQUESTS_IN_FLIGHT && !output.writableNeedDrain) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      this.#inFlight.set(call.id, call);
      this.#send(call.line);
    }
  }

  #drop(call: Call): void {
    call.release();
    if (!this.#inFlight.delete(call.id)) this.#waiting = this.#waiting.filter((other) => other !== call);
  }

  #send(line: string): void {
    if (this.#state === 'open') this.#options.output.write(line);
  }

  #receive(message: JsonObject): void {
    const { id, method, params } = message;
    if (typeof method === 'string') {
      const event = { method, params: isJsonObject(params) ? params : {} };
      if (isId(id)) this.#serve({ ...event, id });
      else this.#announce(event);
    } else if (typeof id === 'number' && ('result' in message || 'error' in message)) {
      this.#settle(id, message);
    } else {
      this.#options.logger.warn('codex app-server sent a message of no known kind', { keys: Object.keys(message) });
    }
  }

  #settle(id: number, message: JsonObject): void {
    const call = this.#inFlight.get(id);
    if (call === undefined) {
      this.#options.logger.debug('codex app-server answered a request that no longer waits', { id });
      return;
    }
    this.#drop(call);
    if ('error' in message) call.reject(refusal(call.method, message['error']));
    else call.resolve(message['result']);
    this.#pump();
  }

  #announce(notification: ServerNotification): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(notification);
      } catch (error) {
        this.#log(`a listener failed on ${notification.method}`, error);
      }
    }
  }

  #serve(request: ServerRequest): void {
    const { id, method } = request;
    for (const handler of [...this.#handlers].reverse()) {
      let answer: Promise<unknown> | undefined;
      try {
        answer = handler(request);
      } catch (error) {
        answer = Promise.reject(error);
      }
      if (answer !== undefined) {
        answer.then(
          (result) => this.#answer(id, method, result),
          (error) => this.#refuse(id, method, error),
        );
        return;
      }
    }
    this.#options.logger.debug('a request of codex app-server was refused: nobody handles it', { method });
    const error = { code: RPC_CODES.methodNotFound, message: `${method} is not handled by this client` };
    this.#send(encodeJsonLine({ id, error }));
  }

  #answer(id: Id, method: string, result: unknown): void {
    let line: string;
    try {
      // An answer without a `result` member would be no answer: the server would wait for ever.
      line = encodeJsonLine({ id, result: result ?? {} });
    } catch (error) {
      this.#refuse(id, method, error);
      return;
    }
    this.#send(line);
  }

  #refuse(id: Id, method: string, error: unknown): void {
    this.#log(`answering ${method} failed`, error);
    const code = isRpcError(error) ? error.code : RPC_CODES.internalError;
    this.#send(encodeJsonLine({ id, error: { code, message: this.#options.redact(messageOf(error)) } }));
  }

  #gone(method: string): AttemptError {
    const { describeEnd } = this.#options;
    return new AttemptError('app_server_exited', `${method} was not answered: ${describeEnd()}`, { data: { method } });
  }

  #log(message: string, error: unknown): void {
    this.#options.logger.warn(message, { error: this.#options.redact(messageOf(error)) });
  }
}

function isId(value: unknown): value is Id {
  return typeof value === 'number' || typeof value === 'string';
}

function aborted(method: string, signal: AbortSignal | undefined): AttemptError {
  return new AttemptError('aborted', `${method} was given up`, { cause: signal?.reason, data: { method } });
}

/** Total: an error of a wrong shape is still a refusal. */
function refusal(method: string, error: unknown): RpcError {
  const { code, message, data } = isJsonObject(error) ? error : {};
  return new RpcError({
    code: typeof code === 'number' ? code : RPC_CODES.internalError,
    message: typeof message === 'string' ? message : 'refused without a message',
    data,
    method,
  });
}
