import type { Graph } from './generate.ts';
import type { InputCase, MachineSuite } from './suite.ts';

/**
 * One line of a frozen edge table. `facts`: what of the context still matters in `state`; `effect`: what the step
 * changes; `inputs`: the machine inputs for which the step exists.
 */
export interface EdgeRow {
  state: string;
  facts: string;
  event: string;
  next: string;
  effect: string;
  inputs: string;
}

const START = '(start)';

/** `turn: any; compact: none / bare`; `any` when every input of the machine has it; the shorter of list and exception. */
function inputsText(all: readonly InputCase[], some: ReadonlySet<InputCase>): string {
  if (some.size === all.length) return 'any';
  const names = (inputs: readonly InputCase[]) => inputs.map(({ label }) => label).join(' / ');
  const groups = [...new Set(all.map(({ group }) => group))];
  return groups
    .flatMap((group) => {
      const members = all.filter((input) => input.group === group);
      const chosen = members.filter((input) => some.has(input));
      const others = members.filter((input) => !some.has(input));
      if (chosen.length === 0) return [];
      const exception = others.length < chosen.length ? `all but ${names(others)}` : names(chosen);
      const text = others.length === 0 ? 'any' : exception;
      return [group === '' ? text : `${group}: ${text}`];
    })
    .join('; ');
}

/** The inputs that the `inputs` of a row names. Throws for a group or a label that no input has. */
export function inputsOf(all: readonly InputCase[], text: string): InputCase[] {
  if (text === 'any') return [...all];
  const grouped = all.some(({ group }) => group !== '');
  return text.split('; ').flatMap((part) => {
    const [group = '', labels = ''] = grouped ? part.split(': ') : ['', part];
    const members = all.filter((input) => input.group === group);
    if (members.length > 0 && labels === 'any') return members;
    const names = labels.replace(/^all but /, '').split(' / ');
    const unknown = names.find((name) => !members.some(({ label }) => label === name));
    if (unknown !== undefined) throw new Error(`no input ${part}: ${unknown} is unknown`);
    return members.filter(({ label }) => names.includes(label) !== labels.startsWith('all but '));
  });
}

const lineOf = (row: EdgeRow): string => JSON.stringify(row);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** All edges of a machine over all its inputs, sorted. */
export function edgeRows(suite: MachineSuite, graphs: readonly Graph[]): EdgeRow[] {
  const found = new Map<string, { row: Omit<EdgeRow, 'inputs'>; inputs: Set<InputCase> }>();
  const note = (row: Omit<EdgeRow, 'inputs'>, input: InputCase) => {
    const key = JSON.stringify(row);
    const entry = found.get(key) ?? { row, inputs: new Set<InputCase>() };
    entry.inputs.add(input);
    found.set(key, entry);
  };
  for (const { input, start, nodes } of graphs) {
    const first = nodes.get(start);
    note({ state: START, facts: '', event: 'start', next: first?.state ?? '', effect: '' }, input);
    for (const { edges } of nodes.values()) {
      for (const { state, facts, label, next, effect } of edges)
        note({ state, facts, event: label, next, effect }, input);
    }
  }
  return [...found.values()]
    .map(({ row, inputs }) => ({ ...row, inputs: inputsText(suite.inputs, inputs) }))
    .sort((a, b) => compare(lineOf(a), lineOf(b)));
}

/** The text of the frozen file: a JSON array, one edge per line. */
export function edgeFile(rows: readonly EdgeRow[]): string {
  return `[\n${rows.map((row) => `  ${lineOf(row)}`).join(',\n')}\n]\n`;
}

/** Lines that are in one table only: `-` frozen and gone, `+` new. Empty: the tables are equal. */
export function edgeDiff(frozen: readonly EdgeRow[], actual: readonly EdgeRow[]): string[] {
  const [old, now] = [new Set(frozen.map(lineOf)), new Set(actual.map(lineOf))];
  return [
    ...[...old].filter((line) => !now.has(line)).map((line) => ({ line, sign: '-' })),
    ...[...now].filter((line) => !old.has(line)).map((line) => ({ line, sign: '+' })),
  ]
    .sort((a, b) => compare(a.line, b.line) || compare(a.sign, b.sign))
    .map(({ line, sign }) => `${sign} ${line}`);
}
