import type { HostTool, JsonSchema, ToolResult } from '../ports.ts';

/** A tool in OpenClaw's form. */
interface PluginTool {
  name: string;
  description: string;
  parameters: JsonSchema;
  execute: (callId: string, args: unknown, signal: AbortSignal) => unknown;
}

/**
 * An engine's tools as this host runs them. `registered` is a tool, or a factory that makes one or several for a
 * session; a factory is asked once for names and schemas, and again at each call, with what is then known of the
 * session. Throws when there is no usable tool in it.
 */
export function hostToolOf(registered: unknown, context: () => Readonly<Record<string, unknown>>): HostTool[] {
  const make = factoryOf(registered);
  if (make === null) return [adapt(pluginToolOf(registered), () => pluginToolOf(registered))];
  return toolsFrom(make(context())).map((tool) =>
    adapt(tool, () => {
      const now = toolsFrom(make(context())).find((candidate) => candidate.name === tool.name);
      if (now === undefined) throw new Error(`tool ${tool.name} is not available in this session`);
      return now;
    }),
  );
}

function factoryOf(registered: unknown): ((context: unknown) => unknown) | null {
  const create: unknown =
    typeof registered === 'object' && registered !== null && 'create' in registered ? registered.create : registered;
  return typeof create === 'function' ? (context) => Reflect.apply(create, registered, [context]) as unknown : null;
}

function toolsFrom(made: unknown): PluginTool[] {
  return [made].flat().map(pluginToolOf);
}

function pluginToolOf(value: unknown): PluginTool {
  if (typeof value !== 'object' || value === null) throw new Error('a tool is an object');
  const { name, description, parameters, execute } = value as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '') throw new Error('a tool has no name');
  if (typeof execute !== 'function') throw new Error(`tool ${name} has no execute()`);
  if (typeof parameters !== 'object' || parameters === null) throw new Error(`tool ${name} has no parameters`);
  return {
    name,
    description: typeof description === 'string' ? description : '',
    // Through JSON: schema builders leave symbols in their objects.
    parameters: JSON.parse(JSON.stringify(parameters)) as JsonSchema,
    execute: (callId, args, signal) => Reflect.apply(execute, value, [callId, args, signal]) as unknown,
  };
}

function adapt(tool: PluginTool, current: () => PluginTool): HostTool {
  const { name, description, parameters } = tool;
  return {
    name,
    description,
    parameters,
    execute: async (args, { callId, signal }) => toolResultOf(await current().execute(callId, args, signal)),
  };
}

/** The text of an answer `{ content: [{ type: 'text', text }] }`; what is no text is named, not sent. */
function toolResultOf(answer: unknown): ToolResult {
  if (typeof answer === 'string') return answer;
  const { content, isError } =
    typeof answer === 'object' && answer !== null ? (answer as Readonly<Record<string, unknown>>) : {};
  const text = Array.isArray(content) ? content.map(partText).join('\n') : (JSON.stringify(answer) ?? '');
  return isError === true ? { text, isError: true } : { text };
}

function partText(part: unknown): string {
  if (typeof part !== 'object' || part === null) return String(part);
  const { type, text } = part as Readonly<Record<string, unknown>>;
  return typeof text === 'string' ? text : `[${String(type)}]`;
}
