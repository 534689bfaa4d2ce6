import { AttemptError } from '../errors.ts';
import type { HostTool, JsonSchema } from '../ports.ts';
import { byCodeUnit } from './fingerprint.ts';
import { compileSchema } from './schema.ts';

/** A function as `thread/start.dynamicTools` lists it. */
export type DynamicFunction = { type: 'function'; name: string; description: string; inputSchema: JsonSchema };

/** One entry of `thread/start.dynamicTools` (protocol 0.154 to 0.171). */
export type DynamicToolSpec =
  | DynamicFunction
  | { type: 'namespace'; name: string; description: string; tools: DynamicFunction[] };

/** What Codex takes as the name of a tool or of a namespace. */
const NAME = /^[a-zA-Z0-9_-]+$/;

/** The name that people, engines and rows see: the tool's own, with its namespace in front. */
export function toolName(tool: Pick<HostTool, 'name' | 'namespace'>): string {
  return tool.namespace === undefined ? tool.name : `${tool.namespace}.${tool.name}`;
}

/** The names of all tools, for the engine's `assemble` (spec L3). */
export function toolNames(tools: readonly HostTool[]): Set<string> {
  return new Set(canonicalOrder(tools).map(toolName));
}

/**
 * Refuses tools that Codex would refuse, or accept and then fail on: names, doubles, schemas.
 * Throws AttemptError `tools_invalid`.
 */
export function checkTools(tools: readonly HostTool[]): void {
  const seen = new Set<string>();
  for (const tool of tools) {
    const name = toolName(tool);
    const badName = [tool.name, tool.namespace ?? tool.name].some(
      (part) => typeof part !== 'string' || !NAME.test(part),
    );
    if (badName) throw invalid(name, 'names are letters, digits, _ and -');
    if (seen.has(name)) throw invalid(name, 'there are two tools of this name');
    seen.add(name);
    if (typeof tool.description !== 'string') throw invalid(name, 'description is not a string');
    if (typeof tool.execute !== 'function') throw invalid(name, 'execute is not a function');
    if (typeof tool.parameters !== 'object' || tool.parameters === null)
      throw invalid(name, 'parameters is no JSON Schema');
    compileSchema(tool.parameters);
  }
}

/**
 * The tools as `thread/start` gets them: functions first, then namespaces, each by name. The order in which a host found
 * its tools never changes a byte. Throws AttemptError `tools_invalid`.
 */
export function toDynamicToolSpecs(tools: readonly HostTool[]): DynamicToolSpec[] {
  checkTools(tools);
  const specs: DynamicToolSpec[] = [];
  const namespaces = new Map<string, DynamicFunction[]>();
  for (const tool of canonicalOrder(tools)) {
    const { name, description, parameters: inputSchema, namespace } = tool;
    const spec: DynamicFunction = { type: 'function', name, description, inputSchema };
    if (namespace === undefined) {
      specs.push(spec);
      continue;
    }
    const group = namespaces.get(namespace);
    if (group === undefined) namespaces.set(namespace, [spec]);
    else group.push(spec);
  }
  for (const [name, group] of namespaces) {
    specs.push({ type: 'namespace', name, description: `Tools of ${name}.`, tools: group });
  }
  return specs;
}

function canonicalOrder(tools: readonly HostTool[]): HostTool[] {
  return [...tools].sort((a, b) => byCodeUnit(a.namespace ?? '', b.namespace ?? '') || byCodeUnit(a.name, b.name));
}

function invalid(name: string, why: string): AttemptError {
  return new AttemptError('tools_invalid', `tool ${name}: ${why}`);
}
