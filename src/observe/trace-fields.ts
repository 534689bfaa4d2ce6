/** Makes the fields of a trace event safe to write: JSON only, every string redacted, no text unless asked for. */

import { REDACTED, redact } from './redact.ts';
import { isSecretName } from './secret-names.ts';
import { isTextField } from './text-fields.ts';

/** Deeper values are left out, which also ends cycles. */
const MAX_DEPTH = 12;

/** Written by the sink itself. */
const RESERVED = ['seq', 'at', 'type'];

/** Total: what has no JSON form or throws when read is left out. `includeText`: see `isTextField`. */
export function traceFields(fields: Readonly<Record<string, unknown>>, includeText: boolean): Record<string, unknown> {
  const clean = cleanObject(fields, includeText, 0);
  for (const name of RESERVED) delete clean[name];
  return clean;
}

function cleanObject(value: object, includeText: boolean, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const field = readField(value, name);
    if (!includeText && isTextField(name, field)) continue;
    const result = isSecretName(name) && typeof field === 'string' ? REDACTED : cleanValue(field, includeText, depth);
    if (result !== undefined) clean[name] = result;
  }
  return clean;
}

function cleanValue(value: unknown, includeText: boolean, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return redact(value);
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      return value;
    case 'bigint':
      return value.toString();
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (depth >= MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.map((item: unknown) => cleanValue(item, includeText, depth + 1) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  // An error's own fields are not enumerable; its stack names paths and is left out.
  if (value instanceof Error) return { name: value.name, message: redact(value.message) };
  return cleanObject(value, includeText, depth + 1);
}

function readField(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name);
  } catch (error) {
    return `(unreadable: ${error instanceof Error ? error.name : typeof error})`;
  }
}
