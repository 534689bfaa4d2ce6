import type { ContextEngine } from '../engine/contract.ts';
import { LEGACY_ENGINE_ID } from '../engine/legacy.ts';
import { loadEngine } from '../engine/load.ts';
import { AttemptError, type ErrorCode } from '../errors.ts';
import { loadHooks } from '../hooks/load.ts';
import { HookRegistry } from '../hooks/registry.ts';
import { redact } from '../observe/redact.ts';
import type { HostTool, Logger } from '../ports.ts';
import { loadTools } from '../tools/load.ts';
import type { Settings } from './config.ts';
import type { Guard } from './guard.ts';

/** Everything that the user named and that runs in this process. */
export interface Plugins {
  engine: ContextEngine | null;
  /** Id of the engine; null: none. */
  engineId: string | null;
  hooks: HookRegistry;
  tools: readonly HostTool[];
  /** Hooks of the user's own modules that no attempt calls, a misspelt one say. Those of engines are left out. */
  unknownHooks: readonly string[];
  /** Lets the engine go, and waits `PLUGIN_BUDGETS.dispose` for it; one that takes longer is warned about. */
  dispose(): Promise<void>;
}

export interface PluginsOptions {
  settings: Pick<Settings, 'engine' | 'engineConfig' | 'hooks' | 'tools'>;
  logger: Logger;
  guard: Guard;
  /** Gives the loading up. Default: never. */
  signal?: AbortSignal;
}

/** Milliseconds that the code of others gets to load (each module), and to let go. */
export const PLUGIN_BUDGETS = { load: 30_000, dispose: 2_000 } as const;

/**
 * Loads engine, hooks and tools; each runs code of its own. An engine's hooks and tools join the same registries.
 * Rejects with AttemptError `engine_not_found`, `engine_invalid`, `hooks_invalid`, `tools_invalid`, also when a module
 * does not finish; with `aborted`; with `internal` when one throws outside its loading.
 */
export async function loadPlugins({ settings, logger, guard, signal }: PluginsOptions): Promise<Plugins> {
  const load = <T>(work: Promise<T>, code: ErrorCode, named: string): Promise<T> =>
    guard.waitFor(work, {
      ms: PLUGIN_BUDGETS.load,
      late: (why) => new AttemptError(code, `${named} could not be loaded: it ${why}`),
      ...(signal === undefined ? {} : { signal }),
    });
  const hooks = new HookRegistry(redact);
  const tools: HostTool[] = [];
  for (const { spec, base } of settings.tools) {
    tools.push(...(await load(loadTools({ spec, cwd: base }), 'tools_invalid', `--tools ${spec}`)));
  }
  for (const { spec, base } of settings.hooks) {
    await load(loadHooks({ spec, cwd: base, registry: hooks }), 'hooks_invalid', `--hooks ${spec}`);
  }
  const unknownHooks = [...hooks.ignored];
  const { engine: named } = settings;
  if (named === undefined || named.spec === LEGACY_ENGINE_ID) {
    return { engine: null, engineId: null, hooks, tools, unknownHooks, dispose: async () => undefined };
  }
  const loading = loadEngine({
    spec: named.spec,
    cwd: named.base,
    ...(settings.engineConfig === undefined ? {} : { config: settings.engineConfig }),
    hooks,
    tools: { add: (tool: HostTool) => tools.push(tool) },
    logger,
    redact,
  });
  const { engine, id, dispose } = await load(loading, 'engine_invalid', `the engine ${named.spec}`);
  return { engine, engineId: id, hooks, tools, unknownHooks, dispose: () => letGo(dispose(), id, guard) };
}

/** A failure is in the log already; whoever waits for ever is left behind. */
async function letGo(disposed: Promise<void>, id: string, guard: Guard): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), PLUGIN_BUDGETS.dispose);
  });
  const isLate = await Promise.race([disposed.then(() => false), late]);
  clearTimeout(timer);
  if (isLate) guard.voice.warn(`the engine ${id} did not let go in ${PLUGIN_BUDGETS.dispose / 1_000} s (dispose)`);
}
