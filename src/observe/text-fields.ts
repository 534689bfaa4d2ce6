/**
 * Fields that hold what a user or a model said. By this convention log lines never have them and traces only on request;
 * numbers and booleans under these names are counts and flags and stay (`{ messages: 4 }`, `usage.output`).
 */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
  'text',
  'prompt',
  'messages',
  'delta',
  'arguments',
  'output',
  'content',
  'developerInstructions',
  'command',
]);

/** Whether a field is left out where no text may be. */
export function isTextField(name: string, value: unknown): boolean {
  return TEXT_FIELDS.has(name) && typeof value !== 'number' && typeof value !== 'boolean' && value !== null;
}
