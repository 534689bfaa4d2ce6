import type { HookName, HookOutcome, Hooks, HostTool } from '../ports.ts';

/** What bounds a piece of an engine's work, and who hears of one that did not end. */
export interface CompanyBounds {
  /** Rejects with an error that `isLate` knows when the work takes too long. */
  bounded<T>(work: Promise<T>): Promise<T>;
  isLate(error: unknown): boolean;
  /** Told once for each hook and tool. `what` names it: `the hook agent_end`. */
  hung(what: string): void;
}

/** The hooks of an engine. One that has hung once is not asked any more, like a method. */
export function boundedHooks(hooks: Hooks, { bounded, isLate, hung }: CompanyBounds): Hooks {
  const silent = new Set<HookName>();
  const ask = async <T>(name: HookName, otherwise: T, work: () => Promise<HookOutcome<T>>): Promise<HookOutcome<T>> => {
    if (silent.has(name)) return { value: otherwise, failures: [] };
    try {
      return await bounded(work());
    } catch (error) {
      if (!isLate(error)) throw error;
      if (!silent.has(name)) hung(`the hook ${name}`);
      silent.add(name);
      return { value: otherwise, failures: [] };
    }
  };
  return {
    has: (name) => !silent.has(name) && hooks.has(name),
    beforePromptBuild: (...args) => ask('before_prompt_build', {}, () => hooks.beforePromptBuild(...args)),
    beforeMessageWrite: (event, ...args) =>
      ask('before_message_write', event.message, () => hooks.beforeMessageWrite(event, ...args)),
    notify: (name, ...args) => ask(name, undefined, () => hooks.notify(name, ...args)),
  };
}

/** A tool of an engine. One that has hung once is not called any more. */
export function boundedTool(tool: HostTool, { bounded, isLate, hung }: CompanyBounds): HostTool {
  let isSilent = false;
  return {
    ...tool,
    async execute(...args) {
      if (isSilent) throw new Error(`${tool.name} is not called any more: it has hung before`);
      try {
        return await bounded(Promise.resolve().then(() => tool.execute(...args)));
      } catch (error) {
        if (isLate(error)) {
          isSilent = true;
          hung(`the tool ${tool.name}`);
        }
        throw error;
      }
    },
  };
}
