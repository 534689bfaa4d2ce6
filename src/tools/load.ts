import { AttemptError, messageOf } from '../errors.ts';
import { loadModule } from '../plugins/load.ts';
import type { HostTool } from '../ports.ts';
import { checkTools } from './tool-specs.ts';

export interface LoadToolsOptions {
  /** A path or a package, as the user named it. */
  spec: string;
  /** Folder that relative paths start from. */
  cwd: string;
}

/**
 * Loads a module of tools. Its default export is a list of tools, `{ tools: [...] }`, or `{ register(api) }` with
 * `api.registerTool(tool)`. Throws AttemptError `tools_invalid` for every way in which that can be wrong.
 */
export async function loadTools({ spec, cwd }: LoadToolsOptions): Promise<HostTool[]> {
  try {
    const loaded = await loadModule(spec, cwd);
    if (!loaded.ok) throw new Error(loaded.message);
    const tools = await toolsOf(loaded.module.value);
    if (tools.length === 0) throw new Error('it has no tools');
    for (const tool of tools) {
      if (typeof tool !== 'object' || tool === null) throw new Error('a tool is not an object');
    }
    // checkTools looks at every field, so nothing is believed before it was seen.
    checkTools(tools as HostTool[]);
    return tools as HostTool[];
  } catch (error) {
    throw new AttemptError('tools_invalid', `--tools ${spec}: ${messageOf(error)}`, { cause: error });
  }
}

async function toolsOf(exported: unknown): Promise<unknown[]> {
  if (Array.isArray(exported)) return exported;
  if (typeof exported !== 'object' || exported === null) throw new Error('its default export is no list of tools');
  const { tools, register } = exported as { tools?: unknown; register?: unknown };
  if (Array.isArray(tools)) return tools;
  if (typeof register !== 'function') throw new Error('its default export has neither tools nor register');
  const registered: unknown[] = [];
  await register.call(exported, { registerTool: (tool: unknown) => registered.push(tool) });
  return registered;
}
