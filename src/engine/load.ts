import { AttemptError, messageOf } from '../errors.ts';
import { loadModule } from '../plugins/load.ts';
import type { Clock, HostTool, Logger } from '../ports.ts';
import type { CompletionFunction, ContextEngine } from './contract.ts';
import { missingMembers } from './engine-shape.ts';
import { trackCompletions } from './in-flight.ts';
import { declaresDurableTurns, isDurableEngine, LEGACY_ENGINE_ID } from './legacy.ts';
import { createPluginApi, type HookSink } from './plugin-api.ts';
import examplePlugin from './window.ts';

/** The name of the engine that comes with this package. A file of that name is meant by `./example`. */
export const EXAMPLE_ENGINE = 'example';

export interface LoadEngineOptions {
  /** `PATH_OR_PACKAGE[#id]`, or `example`. The id chooses among several engines of one module. */
  spec: string;
  /** Where relative paths and package names resolve from. */
  cwd: string;
  /** The engine's own configuration. Default: empty. */
  config?: Readonly<Record<string, unknown>>;
  /** A model for the engine's own use. Default: none, engines that require one are refused. */
  completion?: CompletionFunction;
  /** Gets the hooks that the module registers. */
  hooks: HookSink;
  /** Gets the tools that the module registers. */
  tools: { add(tool: HostTool): void };
  /** What the module's tool factories are told of the session. Default: nothing. */
  toolContext?: () => Readonly<Record<string, unknown>>;
  logger: Logger;
  /** Takes secrets out of the module's text. Default: the text as it is. */
  redact?: (text: string) => string;
}

export interface LoadedEngine {
  engine: ContextEngine;
  id: string;
  /** The file it came from; `example` for the engine of this package. */
  source: string;
  /** Kinds of registrations that this host does not run. */
  ignored: readonly string[];
  /** The completion function, counted for `quiesce`: what `runtimeContext.llm` should offer. */
  completion: CompletionFunction | undefined;
  /** Lets the engine release what it holds. The first call counts; a failure is logged. */
  dispose(): Promise<void>;
  /**
   * Resolves once no completion of the engine has been under way for `quietMs` (default 50): the nearest that a host
   * gets to waiting for an engine's own background work. False when `timeoutMs` passed first.
   */
  quiesce(options: { timeoutMs: number; clock: Clock; quietMs?: number }): Promise<boolean>;
}

/**
 * Loads the engine that a user named and checks it (spec D5, shape and id). Taken are: a module with `register(api)`; a
 * plain object that implements the contract, also as `{ engine }`; a function that makes one from
 * `{ config, cwd, completion, logger }`.
 *
 * Rejects with AttemptError `engine_not_found` (naming what was tried) or `engine_invalid` (naming what is wrong). The
 * engine has not been called when this resolves; requirements are checked apart, see `resolveEngineRequirements`.
 */
export async function loadEngine(options: LoadEngineOptions): Promise<LoadedEngine> {
  const { spec, cwd, logger } = options;
  const redact = options.redact ?? ((text: string) => text);
  const inFlight = trackCompletions(options.completion);
  const found = await findModule(spec, cwd, redact);
  const ignored: string[] = [];
  const offer = await offerOf(found, { ...options, redact, completion: inFlight.complete }, ignored);
  const engine = checkEngine(offer.engine, found.source, redact);
  if (offer.id !== null && engine.info.id !== offer.id) {
    throw invalid(
      `${found.source}: the engine is called "${engine.info.id}" (info.id) but was asked for or registered as "${offer.id}"`,
    );
  }
  if (declaresDurableTurns(engine) && !isDurableEngine(engine)) {
    logger.warn(
      `context engine "${engine.info.id}" declares durable turns but has no commitTurn(): treated as not durable`,
    );
  }
  let disposed: Promise<void> | undefined;
  return {
    engine,
    id: engine.info.id,
    source: found.source,
    ignored,
    dispose: () => {
      disposed ??= disposeOf(engine, logger, redact);
      return disposed;
    },
    completion: inFlight.complete,
    quiesce: inFlight.quiesce,
  };
}

interface FoundModule {
  value: unknown;
  source: string;
  /** The id after `#`, or null. */
  wanted: string | null;
}

async function findModule(spec: string, cwd: string, redact: (text: string) => string): Promise<FoundModule> {
  if (spec.trim() === '') throw new AttemptError('engine_not_found', 'no engine was named');
  const hash = spec.lastIndexOf('#');
  const readings = [{ target: spec, wanted: null }, ...(hash > 0 ? [splitAt(spec, hash)] : [])];
  let missing = '';
  // A file whose name holds a # is that file; only then does the # separate.
  for (const { target, wanted } of readings) {
    if (target === EXAMPLE_ENGINE) return { value: examplePlugin, source: EXAMPLE_ENGINE, wanted };
    const loaded = await loadModule(target, cwd);
    if (loaded.ok) return { value: loaded.module.value, source: loaded.module.path, wanted };
    if (loaded.reason === 'failed') throw invalid(redact(loaded.message));
    missing = loaded.message;
  }
  throw new AttemptError('engine_not_found', `no such engine: ${missing}`, { data: { spec } });
}

function splitAt(spec: string, hash: number): { target: string; wanted: string } {
  return { target: spec.slice(0, hash), wanted: spec.slice(hash + 1) };
}

type OfferOptions = Omit<LoadEngineOptions, 'completion'> & {
  redact: (text: string) => string;
  completion: CompletionFunction | undefined;
};

/** `id`: what `info.id` must be; null: whatever it is. */
async function offerOf(
  { value, source, wanted }: FoundModule,
  options: OfferOptions,
  ignored: string[],
): Promise<{ engine: unknown; id: string | null }> {
  const { redact, cwd, config = {}, completion, logger } = options;
  try {
    if (hasRegister(value)) return await registeredEngine(value, source, wanted, options, ignored);
    if (typeof value !== 'function') return { engine: unwrapped(value), id: wanted };
    const made: unknown = await Reflect.apply(value, undefined, [{ config, cwd, completion, logger }]);
    return { engine: unwrapped(made), id: wanted };
  } catch (error) {
    if (error instanceof AttemptError) throw error;
    throw invalid(redact(`${source}: the engine could not be made: ${messageOf(error)}`));
  }
}

interface Registering {
  id?: unknown;
  register(api: unknown): unknown;
}

function hasRegister(value: unknown): value is Registering {
  const holder = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return holder && typeof Reflect.get(value, 'register') === 'function';
}

async function registeredEngine(
  plugin: Registering,
  source: string,
  wanted: string | null,
  options: OfferOptions,
  ignored: string[],
): Promise<{ engine: unknown; id: string }> {
  const { cwd, config = {}, completion, hooks, tools, logger, redact } = options;
  const { api, registrations } = createPluginApi({
    id: typeof plugin.id === 'string' && plugin.id !== '' ? plugin.id : source,
    source,
    cwd,
    pluginConfig: config,
    completion,
    hooks,
    tools,
    toolContext: options.toolContext ?? (() => ({})),
    logger,
    redact,
  });
  await plugin.register(api);
  ignored.push(...registrations.ignored);
  const ids = [...registrations.engines.keys()];
  const only = ids.length === 1 ? ids[0] : undefined;
  const id = wanted ?? only;
  if (id === undefined) {
    throw invalid(
      ids.length === 0
        ? `${source}: register() registered no context engine`
        : `${source} has several context engines, name one with #: ${ids.map((each) => `#${each}`).join(', ')}`,
    );
  }
  const factory = registrations.engines.get(id);
  if (factory === undefined) throw invalid(`${source} has no context engine "${id}", it has: ${ids.join(', ')}`);
  if (typeof factory !== 'function')
    throw invalid(`${source}: context engine "${id}" was registered without a factory`);
  const engine: unknown = await Reflect.apply(factory, undefined, [{ config: {}, agentDir: cwd, workspaceDir: cwd }]);
  return { engine, id };
}

/** The engine itself, when it comes as `{ engine }`. */
function unwrapped(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || 'info' in value || !('engine' in value)) return value;
  return value.engine;
}

function checkEngine(value: unknown, source: string, redact: (text: string) => string): ContextEngine {
  const missing = missingMembers(value);
  if (missing.length > 0) {
    throw new AttemptError(
      'engine_invalid',
      redact(`${source} is not a context engine: it lacks ${missing.join(', ')}`),
      {
        data: { missing },
      },
    );
  }
  const engine = value as ContextEngine;
  if (engine.info.id === LEGACY_ENGINE_ID) throw invalid(`${source}: the engine id "${LEGACY_ENGINE_ID}" is reserved`);
  return engine;
}

function invalid(message: string): AttemptError {
  return new AttemptError('engine_invalid', message);
}

async function disposeOf(engine: ContextEngine, logger: Logger, redact: (text: string) => string): Promise<void> {
  try {
    await engine.dispose?.();
  } catch (error) {
    logger.warn(redact(`context engine "${engine.info.id}" dispose() failed: ${messageOf(error)}`));
  }
}
