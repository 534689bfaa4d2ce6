import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { AttemptError, isAttemptError, messageOf } from '../errors.ts';
import type { Clock, CodexClient, Logger, ProcessExit } from '../ports.ts';
import { type CodexCommand, HOW_TO_GET_CODEX, reportedVersion, whyNotRunnable } from './binary.ts';
import { isJsonObject, type MalformedLine } from './jsonl.ts';
import type { InitializeParams } from './protocol/index.ts';
import { RpcPeer } from './rpc.ts';
import { StderrTail, type StderrWanted } from './stderr-tail.ts';
import { refuseOldVersion, versionOf } from './version.ts';

/** How we introduce ourselves; `name` becomes the originator of the threads and the prefix of the user agent. */
export type ClientInfo = InitializeParams['clientInfo'];

export interface ProcessOptions {
  command: CodexCommand;
  /** Arguments after those of `command`. */
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  clientInfo: ClientInfo;
  logger: Logger;
  clock: Clock;
  redact: (text: string) => string;
  /** Milliseconds that a server which can no longer be talked to gets to end by itself. */
  closeBudget: number;
}

/** What the process tells its owner. */
export interface ProcessEvents {
  /** It is gone and all that it wrote has been read. Called once. */
  exited(message: string): void;
  /** It lives, and can no longer be talked to. Called at most once. */
  unreachable(): void;
}

/**
 * Milliseconds after the exit in which the pipes are read to their end. They outlive the process only when a
 * grandchild in another process group holds them.
 */
const PIPE_DRAIN_MS = 200;

/** Signals that come from outside: stderr knows nothing of them. */
const OUTSIDE: ReadonlySet<string> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']);

const POSIX = process.platform !== 'win32';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A client as far as the process knows it; how it ends belongs to the owner. */
export type AppServerSession = Omit<CodexClient, 'exited' | 'close' | 'retire'>;

/**
 * One `codex app-server` child: spawning, the handshake, the three ways to end it, and what is known of its end.
 * When which of these happens is the matter of `machines/app-server.ts`.
 */
export class AppServerProcess {
  readonly #options: ProcessOptions;
  readonly #stderr: StderrTail;
  readonly #starting = new AbortController();
  #child: Child | null = null;
  #peer: RpcPeer | null = null;
  #session: AppServerSession | null = null;
  /** It has ended; its pipes may still hold something. */
  #ended: Pick<ProcessExit, 'code' | 'signal'> | null = null;
  /** It has ended and all is read. */
  #exit: ProcessExit | null = null;
  /** Why the start failed, when that is known better than "it ended". */
  #failure: AttemptError | null = null;
  /** What it wrote instead of an answer to `initialize`. */
  #garbage: string | null = null;
  #timers: unknown[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#stderr = new StderrTail(options.redact);
  }

  /** Null until the handshake is done. */
  get session(): AppServerSession | null {
    return this.#session;
  }

  /** Whether requests would be taken. */
  get reachable(): boolean {
    return this.#peer?.open === true;
  }

  /** Starts the child. Never throws: a failure to start is an exit. */
  spawn(events: ProcessEvents): void {
    const { clock, logger, redact, closeBudget } = this.#options;
    const over = (exit: ProcessExit): void => {
      if (this.#exit !== null) return;
      this.#exit = exit;
      this.#peer?.end();
      this.#clearTimers();
      events.exited(exit.message);
    };
    const notStarted = (error: unknown): void => {
      this.#failure = this.#spawnFailure(error);
      over({ code: null, signal: null, message: this.#failure.message });
    };
    const child = this.#spawnChild(notStarted);
    if (child === null) return;
    this.#child = child;
    child.on('error', (error) => {
      if (child.pid === undefined) notStarted(error);
      else logger.warn('signalling codex app-server failed', { error: redact(messageOf(error)) });
    });
    // Without a process there may be no pipes either; the error event tells.
    if (child.pid === undefined) return;
    child.on('exit', (code, signal) => {
      // Its shell children of the same group go with it; those in groups of their own are the server's to clean up.
      this.#killGroup();
      this.#ended = { code, signal };
      const finish = (): void => over(this.#describe({ code, signal }));
      child.on('close', finish);
      // A busy event loop comes here late and before it has read: setImmediate runs after one more round of reading.
      this.#after(PIPE_DRAIN_MS, () =>
        setImmediate(() => {
          this.#destroyPipes();
          finish();
        }),
      );
    });
    // Unread stderr would block the server.
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    child.stderr.on('error', (error) => logger.debug('reading stderr failed', { error: redact(messageOf(error)) }));
    this.#peer = new RpcPeer({
      input: child.stdout,
      output: child.stdin,
      clock,
      logger,
      redact,
      describeEnd: () => this.#exit?.message ?? this.#withStderr('codex app-server ended or is being closed'),
      onMalformed: (line) => this.#onMalformed(line),
      onBroken: () => this.#after(closeBudget, () => events.unreachable()),
    });
  }

  /**
   * Introduces us and checks the version; then `session` is there. Has no timeout of its own. What a rejection means
   * is told by `startFailure` once the process is gone.
   */
  async handshake(): Promise<void> {
    const peer = this.#peer;
    if (peer === null) throw new AttemptError('app_server_not_ready', 'there is no process to shake hands with');
    const params: InitializeParams = {
      clientInfo: this.#options.clientInfo,
      capabilities: { experimentalApi: true, requestAttestation: false },
    };
    try {
      const answer = await peer.request('initialize', params, { timeoutMs: Infinity, signal: this.#starting.signal });
      const about = this.#read(answer);
      refuseOldVersion(about.version, this.#name);
      peer.notify('initialized');
      // What it said while it started is no reason for an end that comes later.
      this.#stderr.forget();
      this.#session = {
        ...about,
        request: (method, params, options) => peer.request(method, params, options),
        onNotification: (listener) => peer.onNotification(listener),
        onServerRequest: (handler) => peer.onServerRequest(handler),
      };
    } catch (error) {
      this.#failure ??= this.#handshakeFailure(error);
      throw error;
    }
  }

  /** First rung: end of input. The server ends by itself and cleans up its own children. */
  endInput(): void {
    this.#peer?.finish();
  }

  /** Second rung: SIGTERM to the server alone. */
  terminate(): void {
    this.#child?.kill('SIGTERM');
  }

  /** Third rung: SIGKILL to the server and its process group. */
  kill(): void {
    this.#peer?.finish();
    this.#killGroup();
    this.#child?.kill('SIGKILL');
  }

  /** How it ended. One that even SIGKILL did not end is let go of, so that it cannot keep our process alive. */
  release(): ProcessExit {
    if (this.#exit === null) {
      if (this.#ended === null) this.#options.logger.error('codex app-server did not end', { pid: this.#child?.pid });
      this.#exit = this.#describe(this.#ended ?? { code: null, signal: null });
      this.#peer?.end();
      this.#clearTimers();
      this.#destroyPipes();
      this.#child?.unref();
    }
    return this.#exit;
  }

  /**
   * Why a start came to nothing; `fault`: the code that the machine ended with, undefined when it was told to stop. A
   * binary that ended by itself is asked for its version, since an old one has no app-server. Never rejects.
   */
  async startFailure(fault: string | undefined): Promise<AttemptError> {
    if (this.#failure !== null) return this.#failure;
    const name = this.#name;
    if (fault === 'app_server_silent') {
      return new AttemptError('app_server_silent', this.#withStderr(`${name} did not answer initialize in time`));
    }
    if (fault === undefined) {
      return new AttemptError('app_server_not_ready', 'codex app-server was closed while it started');
    }
    const { code, signal, message } = this.release();
    const { command, cwd, env } = this.#options;
    const endedByItself = this.#session === null && code !== null && code !== 0;
    const version = endedByItself ? await reportedVersion(command, { cwd, env }) : null;
    try {
      if (version !== null) refuseOldVersion(version, name);
    } catch (error) {
      if (isAttemptError(error)) return error;
    }
    const called = version === null ? name : `${name} (it reports version ${version})`;
    const wrote = this.#garbage === null ? '' : `it wrote ${this.#garbage}; `;
    return new AttemptError('codex_crashed', `${called} did not start as an app-server: ${wrote}${message}`, {
      data: { exitCode: code, signal },
    });
  }

  get #name(): string {
    return [this.#options.command.file, ...this.#options.command.args].join(' ');
  }

  #read(answer: unknown): { version: string; codexHome: string } {
    const { userAgent, codexHome } = isJsonObject(answer) ? answer : {};
    const version = typeof userAgent === 'string' ? versionOf(userAgent, this.#options.clientInfo.name) : null;
    if (version === null || typeof codexHome !== 'string') {
      throw new AttemptError('codex_crashed', `${this.#name} answered initialize without a version and a home folder`);
    }
    return { version, codexHome };
  }

  /** What a failed handshake says by itself; null: the end of the process says it better. */
  #handshakeFailure(error: unknown): AttemptError | null {
    if (!isAttemptError(error)) {
      const reason = this.#options.redact(messageOf(error));
      return new AttemptError('codex_crashed', `${this.#name} refused initialize: ${reason}`, { cause: error });
    }
    return error.code === 'codex_too_old' || error.code === 'codex_crashed' ? error : null;
  }

  #onMalformed({ line, reason, bytes }: MalformedLine): void {
    if (this.#session !== null) {
      // No excerpt: it could be text of the conversation.
      this.#options.logger.warn('codex app-server wrote a line that is not JSON', { bytes });
      return;
    }
    const shown = line.replace(/\p{Cc}+/gu, ' ').trim();
    this.#garbage ??= this.#options.redact(`${JSON.stringify(shown)} (${reason})`);
    this.#starting.abort();
  }

  #spawnChild(notStarted: (error: unknown) => void): Child | null {
    const { command, args, cwd, env } = this.#options;
    try {
      return spawn(command.file, [...command.args, ...args], {
        cwd,
        env,
        stdio: ['pipe', 'pipe', 'pipe'],
        // A group of its own: Ctrl-C in our terminal is ours to handle, and the group can be signalled as one.
        detached: POSIX,
        windowsHide: true,
      });
    } catch (error) {
      // What no system call would take: a NUL in an argument or a variable.
      notStarted(error);
      return null;
    }
  }

  #spawnFailure(error: unknown): AttemptError {
    const { command, cwd, redact } = this.#options;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !existsSync(cwd)) {
      return new AttemptError('app_server_not_ready', `The working directory ${cwd} does not exist.`, { cause: error });
    }
    // ENOENT for a file that is there: the interpreter of its first line is missing.
    if (code === 'ENOENT' && !(path.isAbsolute(command.file) && existsSync(command.file))) {
      return new AttemptError('codex_not_found', `There is no codex at ${command.file}: ${HOW_TO_GET_CODEX}.`, {
        cause: error,
        data: { path: command.file },
      });
    }
    const why = code === 'EACCES' ? whyNotRunnable(command.file) : null;
    if (why !== null) {
      return new AttemptError('codex_not_found', `${command.file} ${why}: ${HOW_TO_GET_CODEX}.`, {
        cause: error,
        data: { path: command.file },
      });
    }
    const reason = redact(messageOf(error));
    return new AttemptError('codex_crashed', `${this.#name} could not be run: ${reason}`, { cause: error });
  }

  #describe({ code, signal }: Pick<ProcessExit, 'code' | 'signal'>): ProcessExit {
    const how =
      signal !== null
        ? `was killed by ${signal}`
        : code !== null
          ? `ended with code ${code}`
          : 'did not end after SIGKILL';
    // One that worked and was killed from outside wrote of that nothing; only a panic may have been the reason.
    const wanted = this.#session !== null && signal !== null && OUTSIDE.has(signal) ? 'panics' : 'any';
    return { code, signal, message: this.#withStderr(`codex app-server ${how}`, wanted) };
  }

  #withStderr(sentence: string, wanted?: StderrWanted): string {
    const lines = this.#stderr.quote(wanted);
    return lines === '' ? sentence : `${sentence}. It wrote on stderr:\n${lines}`;
  }

  #killGroup(): void {
    const pid = this.#child?.pid;
    // Once it has ended and its group was killed the number may be somebody else's.
    if (!POSIX || pid === undefined || this.#ended !== null) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      // ESRCH: nobody of the group is left, which is what is wanted.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ESRCH') this.#options.logger.debug('signalling a process group failed', { code });
    }
  }

  #destroyPipes(): void {
    this.#child?.stdin.destroy();
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
  }

  #after(ms: number, fn: () => void): void {
    if (this.#exit === null) this.#timers.push(this.#options.clock.setTimeout(fn, ms));
  }

  #clearTimers(): void {
    for (const timer of this.#timers) this.#options.clock.clearTimeout(timer);
    this.#timers = [];
  }
}
