import { messageOf } from '../errors.ts';
import type {
  HookContext,
  HookName,
  HookOutcome,
  Hooks,
  MessageWriteEvent,
  NotifyHookName,
  PromptBuildEvent,
  PromptBuildResult,
} from '../ports.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { rewrite } from './message-write.ts';

/** Every hook that this host calls. */
export const HOOK_NAMES: readonly HookName[] = [
  'before_prompt_build',
  'before_message_write',
  'llm_input',
  'llm_output',
  'agent_end',
  'before_compaction',
  'after_compaction',
  'before_reset',
  'session_end',
  'gateway_start',
  'gateway_stop',
];

/** A hook of a plug-in: gets frozen copies; what it returns counts for the two hooks that have a say. */
export type HookHandler = (event: unknown, context: unknown) => unknown;

export interface HookRegisterOptions {
  /** Higher runs earlier. Default 0; equal ones run in the order of registration. */
  priority?: number;
  /** Who registered it: a plug-in's id or a file's name, for messages. */
  source?: string;
}

interface Registered {
  handler: HookHandler;
  priority: number;
  source: string | null;
}

const FIELDS = ['prependContext', 'appendContext', 'prependSystemContext', 'appendSystemContext'] as const;

/** Between what two hooks add at the same place. */
const SEPARATOR = '\n\n';

/**
 * The hooks of one host. They run one after the other; one that throws, hangs until the signal aborts, or returns
 * something else than asked for is listed under `failures` and costs nothing but its own part. Nothing here rejects.
 */
export class HookRegistry implements Hooks {
  readonly #hooks = new Map<HookName, Registered[]>();
  readonly #ignored: string[] = [];
  readonly #redact: (text: string) => string;

  /** `redact` takes secrets out of a text. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  /** Names that were registered and that this host never calls, in order. */
  get ignored(): readonly string[] {
    return this.#ignored;
  }

  /** Adds a handler. An unknown name is remembered under `ignored` and never called. */
  register(name: string, handler: HookHandler, options: HookRegisterOptions = {}): void {
    const known = HOOK_NAMES.find((hook) => hook === name);
    if (known === undefined) {
      this.#ignored.push(name);
      return;
    }
    const list = this.#hooks.get(known) ?? [];
    list.push({ handler, priority: options.priority ?? 0, source: options.source ?? null });
    // The sort is stable, so equal priorities keep the order of registration.
    list.sort((a, b) => b.priority - a.priority);
    this.#hooks.set(known, list);
  }

  has(name: HookName): boolean {
    return this.#hooks.has(name);
  }

  async beforePromptBuild(
    event: PromptBuildEvent,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<PromptBuildResult>> {
    const value: PromptBuildResult = {};
    const failures = await this.#run(
      'before_prompt_build',
      () => event,
      context,
      signal,
      (answer) => merge(value, answer),
    );
    return { value, failures };
  }

  async beforeMessageWrite(
    event: MessageWriteEvent,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<AgentMessage | null>> {
    let { message } = event;
    let blocked = false;
    const eventOf = (): MessageWriteEvent | null => (blocked ? null : { message });
    const failures = await this.#run('before_message_write', eventOf, context, signal, (answer) => {
      const written = rewrite(message, answer);
      if (written === null) blocked = true;
      else message = written;
    });
    return { value: blocked ? null : message, failures };
  }

  async notify(
    name: NotifyHookName,
    event: Readonly<object>,
    context: HookContext,
    signal: AbortSignal,
  ): Promise<HookOutcome<undefined>> {
    return {
      value: undefined,
      failures: await this.#run(
        name,
        () => event,
        context,
        signal,
        () => {},
      ),
    };
  }

  /** `eventOf` is asked before each hook; null ends it. */
  async #run(
    name: HookName,
    eventOf: () => object | null,
    context: HookContext,
    signal: AbortSignal,
    take: (answer: unknown) => void,
  ): Promise<Failure[]> {
    const failures: Failure[] = [];
    for (const hook of this.#hooks.get(name) ?? []) {
      const event = eventOf();
      if (event === null) break;
      if (signal.aborted) {
        failures.push(this.#failure(name, hook, 'was not run: no time was left'));
        continue;
      }
      try {
        // A copy of its own: a hook must not be able to reach into the session that it is told about.
        const copies = frozen(structuredClone([event, context] as const));
        const call = async () => hook.handler(...copies);
        take(await untilAborted(call(), signal));
      } catch (error) {
        failures.push(this.#failure(name, hook, signal.aborted ? 'did not answer in time' : messageOf(error)));
      }
    }
    return failures;
  }

  #failure(name: HookName, hook: Registered, message: string): Failure {
    return { name, message: this.#redact(hook.source === null ? message : `${hook.source}: ${message}`) };
  }
}

type Failure = HookOutcome<unknown>['failures'][number];

/** Adds an answer to what earlier hooks gave. Throws when it is a wrong one, and then takes nothing of it. */
function merge(value: PromptBuildResult, answer: unknown): void {
  if (answer === undefined || answer === null) return;
  if (typeof answer !== 'object' || Array.isArray(answer)) throw new Error('returned something that is not an object');
  const given = answer as Readonly<Record<string, unknown>>;
  const wrong = FIELDS.find((field) => given[field] != null && typeof given[field] !== 'string');
  if (wrong !== undefined) throw new Error(`returned a ${wrong} that is not a string`);
  for (const field of FIELDS) {
    const text = given[field];
    if (typeof text !== 'string' || text === '') continue;
    const before = value[field];
    if (before === undefined) value[field] = text;
    else value[field] = field.startsWith('prepend') ? text + SEPARATOR + before : before + SEPARATOR + text;
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}
