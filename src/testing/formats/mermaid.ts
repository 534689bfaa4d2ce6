import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** What a transition is called in a diagram. `name`: with the name of its timer. */
function labelOf(event: string, named: boolean): string {
  if (event === '') return 'then';
  if (event.startsWith('xstate.done.')) return 'done';
  if (event.startsWith('xstate.error.')) return 'error';
  if (event.startsWith('xstate.after.')) return named ? (event.split('.')[2] ?? 'budget') : 'budget';
  return event;
}

const transitionsOf = (node: AnyStateNode): AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

const childrenOf = (node: AnyStateNode): AnyStateNode[] => Object.values(node.states);

/** From the outermost state to the node itself; the machine is no state. */
const lineage = (node: AnyStateNode): AnyStateNode[] =>
  node.parent === undefined ? [] : [...lineage(node.parent), node];

/** An arrow between two states of the same state, and what leads along it, in order of appearance. */
interface Arrow {
  inside: AnyStateNode;
  from: AnyStateNode;
  to: AnyStateNode;
  labels: Set<string>;
}

/** Collects arrows; mermaid draws none from inside one state to inside another, so they go from state to state. */
class Arrows {
  readonly #all = new Map<string, Arrow>();

  /** `label` gets the states inside the ends of the arrow that the transition really goes from and to. */
  add(
    source: AnyStateNode,
    target: AnyStateNode,
    label: (inner: readonly AnyStateNode[], target: readonly AnyStateNode[]) => string,
  ): void {
    const [out, into] = [lineage(source), lineage(target)];
    const split = out.findIndex((node, at) => node !== into[at]);
    const [from, to] = [out[split], into[split]];
    if (from === undefined || to === undefined || from.parent === undefined) return;
    const key = `${from.id} ${to.id}`;
    const arrow = this.#all.get(key) ?? { inside: from.parent, from, to, labels: new Set<string>() };
    arrow.labels.add(label(out.slice(split + 1), into.slice(split + 1)));
    this.#all.set(key, arrow);
  }

  within(node: AnyStateNode): Arrow[] {
    return [...this.#all.values()].filter(({ inside }) => inside === node);
  }
}

/** The states of the top level and the transitions between them: what README.md shows. Ends with a newline. */
export function overviewDiagram(machine: AnyStateMachine): string {
  const arrows = new Arrows();
  const visit = (node: AnyStateNode): void => {
    for (const { target, eventType } of transitionsOf(node)) {
      const [from] = lineage(node);
      for (const to of target ?? []) {
        const [into] = lineage(to);
        if (from !== undefined && into !== undefined) arrows.add(from, into, () => labelOf(eventType, false));
      }
    }
    childrenOf(node).forEach(visit);
  };
  childrenOf(machine.root).forEach(visit);
  const id = (node: AnyStateNode) => node.key.replaceAll('-', '_');
  const sorted = (labels: ReadonlySet<string>) => [...labels].sort().join(' · ');
  const states = childrenOf(machine.root);
  const lines = [
    ...states.map((state) => `state "${state.key}" as ${id(state)}`),
    ...initialOf(machine.root).map((state) => `[*] --> ${id(state)}`),
    ...arrows.within(machine.root).map(({ from, to, labels }) => `${id(from)} --> ${id(to)}: ${sorted(labels)}`),
    ...states.filter(({ type }) => type === 'final').map((state) => `${id(state)} --> [*]`),
  ];
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`), ''].join('\n');
}

function initialOf(node: AnyStateNode): AnyStateNode[] {
  const { initial } = node.config;
  const first = typeof initial === 'string' ? node.states[initial] : undefined;
  return first === undefined ? [] : [first];
}

/**
 * All states of the machines, nested; more than one machine: each in a state of its own. A transition from inside a
 * state to the outside goes from that state, with the inner state before its label (`opening, error`); one to the inside
 * says where to (`RETIRE, to killing`). What changes no state is left out. Ends with a newline.
 */
export function nestedDiagram(machines: readonly AnyStateMachine[]): string {
  const bodies = machines.map((machine) => {
    const arrows = new Arrows();
    const visit = (node: AnyStateNode): void => {
      for (const transition of transitionsOf(node)) addNested(arrows, transition);
      childrenOf(node).forEach(visit);
    };
    visit(machine.root);
    const body = levelOf(machine.root, arrows);
    return machines.length === 1
      ? body
      : [`state "${machine.id}" as ${idOf(machine.root)} {`, ...body.map(indented), '}'];
  });
  return ['stateDiagram-v2', ...bodies.flat().map(indented), ''].join('\n');
}

const indented = (line: string): string => `  ${line}`;
const idOf = (node: AnyStateNode): string => node.id.replaceAll(/[^\w]/g, '_');

function addNested(arrows: Arrows, { source, target, eventType, guard }: AnyTransitionDefinition): void {
  const event = `${labelOf(eventType, true)}${typeof guard === 'string' ? ` [${guard}]` : ''}`;
  for (const to of target ?? []) {
    // What a state hears on the way to a state inside it is heard in all its other states.
    const isInner = lineage(to).includes(source) || source.parent === undefined;
    const others = childrenOf(source).filter((state) => state.type !== 'final' && !lineage(to).includes(state));
    for (const from of isInner ? others : [source]) {
      arrows.add(from, to, (inner, into) => {
        const where = into.length === 0 ? '' : `, to ${into.map(({ key }) => key).join('.')}`;
        return [...inner.map(({ key }) => key), event].join(', ') + where;
      });
    }
  }
}

/** The lines of what is inside a state. */
function levelOf(node: AnyStateNode, arrows: Arrows): string[] {
  const states = childrenOf(node);
  return [
    ...states.flatMap((state) => {
      const line = `state "${state.key}" as ${idOf(state)}`;
      return childrenOf(state).length === 0 ? [line] : [`${line} {`, ...levelOf(state, arrows).map(indented), '}'];
    }),
    ...initialOf(node).map((state) => `[*] --> ${idOf(state)}`),
    ...arrows.within(node).map(({ from, to, labels }) => `${idOf(from)} --> ${idOf(to)}: ${[...labels].join(' · ')}`),
    ...states.filter(({ type }) => type === 'final').map((state) => `${idOf(state)} --> [*]`),
  ];
}
