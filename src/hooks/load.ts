import { AttemptError, messageOf } from '../errors.ts';
import { loadModule } from '../plugins/load.ts';
import { HOOK_NAMES, type HookHandler, type HookRegistry } from './registry.ts';

export interface LoadHooksOptions {
  /** A path or a package, as the user named it. */
  spec: string;
  /** Folder that relative paths start from. */
  cwd: string;
  registry: HookRegistry;
}

/**
 * Loads a module of hooks into a registry and returns its file. Its default export is an object of functions under hook
 * names (`{ before_prompt_build: fn }`) or `{ register(api) }` with `api.on(name, handler, { priority })`.
 * Throws AttemptError `hooks_invalid` for every way in which that can be wrong.
 */
export async function loadHooks({ spec, cwd, registry }: LoadHooksOptions): Promise<string> {
  const fail = (why: string, cause?: unknown) =>
    new AttemptError('hooks_invalid', `--hooks ${spec}: ${why}`, cause === undefined ? {} : { cause });
  const loaded = await loadModule(spec, cwd);
  if (!loaded.ok) throw fail(loaded.message);
  const exported = loaded.module.value;
  if (typeof exported !== 'object' || exported === null) throw fail('its default export is not an object');
  let count = 0;
  const add = (name: unknown, handler: unknown, priority: unknown) => {
    if (typeof name !== 'string') throw fail('a hook has no name');
    if (!isHandler(handler)) throw fail(`hook ${name} is not a function`);
    count += 1;
    registry.register(name, handler, { source: spec, ...(typeof priority === 'number' ? { priority } : {}) });
  };

  const register = (exported as { register?: unknown }).register;
  if (typeof register === 'function') {
    try {
      await register.call(exported, {
        on: (name: unknown, handler: unknown, options?: { priority?: unknown }) =>
          add(name, handler, options?.priority),
      });
    } catch (error) {
      throw error instanceof AttemptError ? error : fail(messageOf(error), error);
    }
  } else {
    for (const [name, handler] of Object.entries(exported)) {
      // Other fields of the object (an id, a version) are nobody's business; a hook's name with no function is a slip.
      if (typeof handler === 'function' || HOOK_NAMES.some((known) => known === name)) add(name, handler, undefined);
    }
  }
  if (count === 0) throw fail('it registers no hook');
  return loaded.module.path;
}

function isHandler(value: unknown): value is HookHandler {
  return typeof value === 'function';
}
