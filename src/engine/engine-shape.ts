const REQUIRED_METHODS = ['ingest', 'assemble', 'compact'] as const;
const OPTIONAL_METHODS = ['bootstrap', 'ingestBatch', 'afterTurn', 'commitTurn', 'maintain', 'dispose'] as const;

/** What keeps a value from being a context engine, in words; empty when it is one. Total. */
export function missingMembers(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [`an object (got ${value === null ? 'null' : typeof value})`];
  const info: unknown = Reflect.get(value, 'info');
  const missing = ['id', 'name'].filter((name) => !isText(infoField(info, name))).map((name) => `info.${name}`);
  for (const name of REQUIRED_METHODS) if (typeof Reflect.get(value, name) !== 'function') missing.push(`${name}()`);
  for (const name of OPTIONAL_METHODS) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined && member !== null && typeof member !== 'function') missing.push(`a callable ${name}`);
  }
  return missing;
}

function infoField(info: unknown, name: string): unknown {
  return typeof info === 'object' && info !== null ? (Reflect.get(info, name) as unknown) : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}
