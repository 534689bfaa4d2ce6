/** What only an array has, of what an author may try on a list of names. */
const ARRAY_MEMBERS = [
  'length',
  'map',
  'filter',
  'includes',
  'indexOf',
  'join',
  'some',
  'every',
  'find',
  'slice',
  'concat',
  'reduce',
  'sort',
] as const;

/** A set of tool names that notices when it is taken for an array. */
export class ToolSet extends Set<string> {
  takenForArray = false;
}

for (const member of ARRAY_MEMBERS) {
  Object.defineProperty(ToolSet.prototype, member, {
    configurable: true,
    get(this: ToolSet) {
      this.takenForArray = true;
      return undefined;
    },
  });
}
