import type { ContextEngine } from '../engine/contract.ts';
import { LEGACY_ENGINE_ID } from '../engine/legacy.ts';
import { loadEngine } from '../engine/load.ts';
import { loadHooks } from '../hooks/load.ts';
import { HookRegistry } from '../hooks/registry.ts';
import { redact } from '../observe/redact.ts';
import type { HostTool, Logger } from '../ports.ts';
import { loadTools } from '../tools/load.ts';
import type { Settings } from './config.ts';

/** Everything that the user named and that runs in this process. */
export interface Plugins {
  engine: ContextEngine | null;
  /** Id of the engine; null: none. */
  engineId: string | null;
  hooks: HookRegistry;
  tools: readonly HostTool[];
  /** Hooks of the user's own modules that no attempt calls, a misspelt one say. Those of engines are left out. */
  unknownHooks: readonly string[];
  /** Lets the engine go. */
  dispose(): Promise<void>;
}

/**
 * Loads engine, hooks and tools; each runs code of its own. An engine's hooks and tools join the same registries.
 * Rejects with AttemptError `engine_not_found`, `engine_invalid`, `hooks_invalid`, `tools_invalid`.
 */
export async function loadPlugins(settings: Settings, logger: Logger): Promise<Plugins> {
  const hooks = new HookRegistry(redact);
  const tools: HostTool[] = [];
  for (const { spec, base } of settings.tools) tools.push(...(await loadTools({ spec, cwd: base })));
  for (const { spec, base } of settings.hooks) await loadHooks({ spec, cwd: base, registry: hooks });
  const unknownHooks = [...hooks.ignored];
  const { engine: named } = settings;
  if (named === undefined || named.spec === LEGACY_ENGINE_ID) {
    return { engine: null, engineId: null, hooks, tools, unknownHooks, dispose: async () => undefined };
  }
  const loaded = await loadEngine({
    spec: named.spec,
    cwd: named.base,
    ...(settings.engineConfig === undefined ? {} : { config: settings.engineConfig }),
    hooks,
    tools: { add: (tool: HostTool) => tools.push(tool) },
    logger,
    redact,
  });
  return { engine: loaded.engine, engineId: loaded.id, hooks, tools, unknownHooks, dispose: () => loaded.dispose() };
}
