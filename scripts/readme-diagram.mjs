// Writes the state diagram of the README from the machine; with --check it only says whether the README is up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { attemptMachine } from '../dist/machines/index.js';

const file = new URL('../README.md', import.meta.url);
const START = '<!-- diagram: made from machines/attempt.ts by npm run readme:diagram -->';
const END = '<!-- /diagram -->';

/** Top-level states and the transitions between them; the states inside a state are not drawn. */
function mermaid(machine) {
  const top = (node) => (node.parent === machine.root ? node : top(node.parent));
  const id = (node) => node.key.replaceAll('-', '_');
  const edges = new Map();
  const visit = (node) => {
    for (const transition of node.transitions ? [...node.transitions.values()].flat() : []) add(node, transition);
    for (const transition of node.always ?? []) add(node, transition);
    for (const child of Object.values(node.states)) visit(child);
  };
  const add = (node, { target, eventType }) => {
    for (const to of target ?? []) {
      const [from, into] = [top(node), top(to)];
      if (from === into) continue;
      const key = `${id(from)} --> ${id(into)}`;
      edges.set(key, (edges.get(key) ?? new Set()).add(labelOf(eventType)));
    }
  };
  for (const child of Object.values(machine.root.states)) visit(child);
  const lines = Object.values(machine.root.states).map((state) => `  state "${state.key}" as ${id(state)}`);
  lines.push(`  [*] --> ${id(machine.root.states[machine.root.config.initial])}`);
  for (const [edge, labels] of edges) lines.push(`  ${edge}: ${[...labels].sort().join(' · ')}`);
  for (const state of Object.values(machine.root.states)) {
    if (state.type === 'final') lines.push(`  ${id(state)} --> [*]`);
  }
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}

function labelOf(event) {
  if (event === '') return 'then';
  if (event.startsWith('xstate.done.')) return 'done';
  if (event.startsWith('xstate.error.')) return 'error';
  if (event.startsWith('xstate.after.')) return 'budget';
  return event;
}

const readme = readFileSync(file, 'utf8');
const [before, rest] = readme.split(START);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`README.md needs ${START} and ${END}`);
const wanted = `${before}${START}\n${mermaid(attemptMachine)}\n${END}${after}`;
if (process.argv.includes('--check')) {
  if (wanted !== readme) {
    console.error('README.md: the state diagram is not that of the machine; run npm run readme:diagram');
    process.exit(1);
  }
} else if (wanted !== readme) {
  writeFileSync(file, wanted);
}
