import { createHash } from 'node:crypto';
import type { HostTool, JsonSchema } from '../ports.ts';

/** Keywords whose value is one schema. */
const ONE = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
/** Keywords whose value is a list of schemas; `items` was one in older drafts. */
const LIST = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
/** Keywords whose value is an object of schemas under names of the author's choice. */
const NAMED = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties']);

/**
 * Identity of a tool catalogue: what a native thread is frozen to at `thread/start` (spec T1). Names, namespaces and
 * schemas count; the order of the tools, the order of keys and description texts do not. A parameter that is *called*
 * `description`, and data such as `default` or `enum` that holds such a key, do count. Hex SHA-256.
 */
export function toolFingerprint(tools: readonly Pick<HostTool, 'name' | 'namespace' | 'parameters'>[]): string {
  const catalogue = tools
    .map((tool) =>
      canonicalJson({
        name: tool.name,
        namespace: tool.namespace ?? null,
        schema: withoutDescriptions(tool.parameters),
      }),
    )
    .sort(byCodeUnit);
  return createHash('sha256')
    .update(`[${catalogue.join(',')}]`, 'utf8')
    .digest('hex');
}

/** Order of strings that no locale changes. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutDescriptions(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([keyword, value]) => keyword !== 'description' || typeof value !== 'string',
  );
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, keywordValue(keyword, value)]));
}

function keywordValue(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) return LIST.has(keyword) ? value.map(withoutDescriptions) : value;
  if (ONE.has(keyword)) return withoutDescriptions(value);
  if (!NAMED.has(keyword) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, withoutDescriptions(schema)]));
}

/** JSON with the keys of every object in code unit order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    isObject(entry) ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => byCodeUnit(a, b))) : entry,
  );
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
