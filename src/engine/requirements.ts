import { AttemptError } from '../errors.ts';
import { COMPLETION_CAPABILITY, type ContextEngine, type EngineOperation, HOST_CAPABILITIES } from './contract.ts';

/** What this host offers: all it can do, and completions when a completion function is configured. */
export function hostCapabilities(options: { completion: boolean }): readonly string[] {
  return options.completion ? [...HOST_CAPABILITIES, COMPLETION_CAPABILITY] : HOST_CAPABILITIES;
}

/**
 * Holds what the engine needs for an operation against what the host offers, and returns what is needed (spec D5).
 * Nothing has been called or written when it throws AttemptError `engine_requirements` (something is missing; `data`
 * lists it) or `engine_invalid` (the requirements cannot be read).
 */
export function resolveEngineRequirements(
  engine: ContextEngine,
  operation: EngineOperation,
  capabilities: readonly string[],
): readonly string[] {
  const stated: unknown = engine.info.hostRequirements?.[operation];
  if (stated === undefined) return [];
  const readable = typeof stated === 'object' && stated !== null;
  const list: unknown = Array.isArray(stated)
    ? stated
    : (fieldOf(stated, 'requiredCapabilities') ?? (readable ? [] : stated));
  const engineId = engine.info.id;
  if (!isTextList(list)) {
    throw new AttemptError(
      'engine_invalid',
      `context engine "${engineId}" states its requirements for ${operation} in a form that cannot be read: ` +
        'expected { requiredCapabilities: string[] }',
      { data: { engineId, operation } },
    );
  }
  const missing = list.filter((capability) => !capabilities.includes(capability));
  if (missing.length === 0) return list;
  const advice = fieldOf(stated, 'unsupportedMessage');
  throw new AttemptError(
    'engine_requirements',
    `context engine "${engineId}" cannot serve ${operation} here: this host does not offer ${missing.join(', ')}` +
      (missing.includes(COMPLETION_CAPABILITY) ? ' (configure a completion function)' : '') +
      (typeof advice === 'string' && advice.trim() !== '' ? `. ${advice.trim()}` : ''),
    { data: { engineId, operation, missing } },
  );
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (Reflect.get(value, name) as unknown) : undefined;
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
