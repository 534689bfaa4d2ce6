import type { CompletionFunction } from '../engine/contract.ts';
import { isDurableEngine } from '../engine/legacy.ts';
import { loadEngine } from '../engine/load.ts';
import { HookRegistry } from '../hooks/registry.ts';
import { redact } from '../observe/redact.ts';
import { silentLogger } from '../observe/silent.ts';
import type { HostTool } from '../ports.ts';
import { checkCall } from './checks.ts';
import { type FreshEngine, type RecordedCall, Recorder } from './recorder.ts';
import { HostSession } from './session.ts';
import type { Finding, Verdicts } from './verdicts.ts';

/** What is examined, and where it may keep things. */
export interface BenchOptions {
  /** As `loadEngine` takes it; a path must be absolute. */
  spec: string;
  config: Readonly<Record<string, unknown>>;
  /** Working folder of the engine, and the folder of all sessions; absolute, and empty at the beginning. */
  folder: string;
  /** Milliseconds that one call may take. */
  timeoutMs: number;
  /** A later process has a later day. Default 0. */
  day?: number;
}

/** The workshop of an examination: the engine under the recorder, and sessions as many as one likes. */
export class Bench {
  readonly recorder: Recorder;
  readonly verdicts: Verdicts;
  /** Told of each call before it is made, with the way to it. */
  onCall: (method: string, path: readonly string[]) => void = () => undefined;
  readonly source: string;
  readonly #options: BenchOptions;
  #sessions = 0;
  #refusable = false;
  #follow: (path: readonly string[]) => void = () => undefined;

  private constructor(recorder: Recorder, source: string, options: BenchOptions, verdicts: Verdicts) {
    this.recorder = recorder;
    this.source = source;
    this.verdicts = verdicts;
    this.#options = options;
  }

  /** Loads the engine. Rejects as `loadEngine` does. */
  static async open(options: BenchOptions, verdicts: Verdicts): Promise<Bench> {
    let source = options.spec;
    const load = async (): Promise<FreshEngine> => {
      const hooks = new HookRegistry(redact);
      const tools: HostTool[] = [];
      const loaded = await loadEngine({
        spec: options.spec,
        cwd: options.folder,
        config: structuredClone(options.config),
        completion: summarise,
        hooks,
        tools: { add: (tool) => void tools.push(tool) },
        logger: silentLogger,
        redact,
      });
      source = loaded.source;
      return { ...loaded, completion: loaded.completion ?? summarise, hooks, tools };
    };
    let path: readonly string[] = [];
    const notReloaded = (found: string): void =>
      verdicts.broken('restart', {
        expected: 'the engine can be loaded anew',
        found,
        path: [...path],
      });
    const hungBeside = (what: string, found: string): void =>
      verdicts.broken('hangs', { expected: `${what} ends`, found, path: [...path] });
    const recorder = await Recorder.load({ load, notReloaded, hungBeside, timeoutMs: options.timeoutMs });
    const bench = new Bench(recorder, source, options, verdicts);
    bench.#follow = (way) => {
      path = way;
    };
    return bench;
  }

  get durable(): boolean {
    return isDurableEngine(this.recorder.engine);
  }

  /** The one method that the host finalizes this engine's turns by. */
  get finalizer(): 'commitTurn' | 'afterTurn' | 'ingestBatch' | 'ingest' {
    if (this.durable) return 'commitTurn';
    if (this.recorder.has('afterTurn')) return 'afterTurn';
    return this.recorder.has('ingestBatch') ? 'ingestBatch' : 'ingest';
  }

  /** A new session; with a number, the session of that number, as an earlier process has left it. */
  session(options: { number?: number; onDisk?: boolean } = {}): HostSession {
    this.#sessions += 1;
    const { number = this.#sessions, onDisk = false } = options;
    const { folder, day = 0 } = this.#options;
    const session = new HostSession({ recorder: this.recorder, folder, number, day, onDisk });
    this.#follow(session.steps);
    session.follow(
      (method) => this.onCall(method, session.steps),
      (call) => this.judge(call, session.steps),
    );
    return session;
  }

  /** Looks at one call; `path` is what had happened until it ended. */
  judge(call: RecordedCall, path: readonly string[]): void {
    checkCall(call, this.verdicts, {
      path: [...path],
      engineId: this.recorder.info.id,
      refusable: this.#refusable,
    });
  }

  /** While the work runs, a call that throws is no fault. */
  async tolerating<T>(work: () => Promise<T>): Promise<T> {
    this.#refusable = true;
    try {
      return await work();
    } finally {
      this.#refusable = false;
    }
  }

  /** A finding whose way is that of the session. */
  finding(session: HostSession, expected: string, found: string): Finding {
    return { expected, found, path: [...session.steps] };
  }
}

/** A model for the engine's own use: says the same to the same, and quotes the end of what it was given. */
const summarise: CompletionFunction = async ({ messages }) => {
  const text = messages.at(-1)?.content ?? '';
  return {
    text: `Summary of ${text.length} characters, which end with: ${text.slice(-400)}`,
    provider: 'conform',
    model: 'conform-1',
  };
};
