import { resolve } from 'node:path';
import { messageOf } from '../errors.ts';
import type { HostTool, Logger } from '../ports.ts';
import type { CompletionFunction } from './contract.ts';
import { hostToolOf } from './plugin-tool.ts';

/** Where an engine's hooks go. Unknown names are the registry's to ignore. */
export interface HookSink {
  register(
    name: string,
    handler: (event: unknown, context: unknown) => unknown,
    options?: { priority?: number; source?: string },
  ): void;
}

export interface PluginApiOptions {
  /** The plug-in's id, for messages and as the source of its hooks. */
  id: string;
  /** The file that was loaded. */
  source: string;
  cwd: string;
  /** The plug-in's own configuration. */
  pluginConfig: Readonly<Record<string, unknown>>;
  completion?: CompletionFunction | undefined;
  hooks: HookSink;
  tools: { add(tool: HostTool): void };
  /** What a tool factory is told of the session, asked at every call. */
  toolContext: () => Readonly<Record<string, unknown>>;
  logger: Logger;
  redact: (text: string) => string;
}

/** What `register(api)` has registered. */
export interface Registrations {
  engines: Map<string, unknown>;
  /** Kinds of things that this host does not run, such as `registerCommand`. */
  ignored: string[];
}

/**
 * The `api` object of OpenClaw's plug-ins, as much of it as concerns a context engine (spec G1). Registrations of any
 * other kind are taken and ignored, so that a plug-in which also brings commands or services still loads.
 */
export function createPluginApi(options: PluginApiOptions): { api: object; registrations: Registrations } {
  const { id, source, cwd, pluginConfig, completion, hooks, tools, logger, redact } = options;
  const registrations: Registrations = { engines: new Map(), ignored: [] };
  const config = { plugins: { entries: { [id]: { enabled: true, config: pluginConfig } } } };
  const pluginLogger = loggerOf(id, logger, redact);

  const api: Record<string, unknown> = {
    id,
    name: id,
    source,
    registrationMode: 'full',
    config,
    pluginConfig,
    logger: pluginLogger,
    resolvePath: (path: string) => resolve(cwd, path),
    runtime: {
      config: { current: () => config },
      logging: { getChildLogger: () => pluginLogger, shouldLogVerbose: () => false },
      // Engines summarise with it outside any turn too, so it lives as long as the process.
      ...(completion === undefined ? {} : { llm: { complete: completion } }),
    },
    registerContextEngine: (engineId: unknown, factory: unknown) => {
      if (typeof engineId !== 'string' || engineId.trim() === '') throw new Error('a context engine needs an id');
      if (registrations.engines.has(engineId)) throw new Error(`context engine "${engineId}" is registered twice`);
      registrations.engines.set(engineId, factory);
    },
    on: (name: unknown, handler: unknown, hookOptions?: { priority?: unknown }) => {
      if (typeof name !== 'string' || typeof handler !== 'function')
        throw new Error('a hook needs a name and a handler');
      const priority = hookOptions?.priority;
      hooks.register(name, (event, context) => Reflect.apply(handler, undefined, [event, context]) as unknown, {
        source: id,
        ...(typeof priority === 'number' ? { priority } : {}),
      });
    },
    registerTool: (tool: unknown) => {
      try {
        for (const adapted of hostToolOf(tool, options.toolContext)) tools.add(adapted);
      } catch (error) {
        logger.warn(redact(`plug-in "${id}": a tool was left out: ${messageOf(error)}`));
      }
    },
  };
  const ignore = (member: string) => (): void => {
    registrations.ignored.push(member);
    logger.debug(`plug-in "${id}" calls ${member}, which this host does not run`);
  };
  return {
    api: new Proxy(api, {
      get(target, member) {
        if (typeof member !== 'string' || member in target) return Reflect.get(target, member) as unknown;
        return member.startsWith('register') ? ignore(member) : undefined;
      },
    }),
    registrations,
  };
}

type PluginLogMethod = (message: unknown) => void;

/** Second arguments are dropped: they may hold anything, and logs hold no text of the conversation. */
function loggerOf(
  id: string,
  logger: Logger,
  redact: (text: string) => string,
): Record<'debug' | 'info' | 'warn' | 'error', PluginLogMethod> {
  const line = (message: unknown): string => redact(`[${id}] ${messageOf(message)}`);
  return {
    debug: (message) => logger.debug(line(message)),
    info: (message) => logger.info(line(message)),
    warn: (message) => logger.warn(line(message)),
    error: (message) => logger.error(line(message)),
  };
}
