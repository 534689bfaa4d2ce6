import type { AnyStateMachine } from 'xstate';

/** What a machine is made of, as data: so that a configuration that xstate would refuse can be checked too. */
export interface MachineParts {
  config: object;
  implementations: Readonly<Record<'actors' | 'actions' | 'guards' | 'delays', object>>;
}

interface Node {
  id: string;
  path: readonly string[];
  config: Readonly<Record<string, unknown>>;
  parent: Node | null;
  children: Readonly<Record<string, Node>>;
}

const list = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function build(config: Record<string, unknown>, path: readonly string[], parent: Node | null): Node {
  const children: Record<string, Node> = {};
  const own = typeof config['id'] === 'string' ? config['id'] : undefined;
  const node: Node = { id: own ?? [parent?.id, path.at(-1)].join('.'), path, config, parent, children };
  for (const [key, child] of Object.entries(record(config['states']))) {
    children[key] = build(record(child), [...path, key], node);
  }
  return node;
}

const everyNode = (node: Node): Node[] => [node, ...Object.values(node.children).flatMap(everyNode)];

/** `a`: a sibling; `.a`: a child; `#id` or `#id.a`: from the node with that id. */
function resolves(target: string, from: Node, nodes: readonly Node[]): boolean {
  const [first = '', ...rest] = target.replace(/^[.#]/, '').split('.');
  const start = target.startsWith('#')
    ? nodes.find(({ id }) => id === first)
    : (target.startsWith('.') ? from : from.parent)?.children[first];
  return rest.reduce<Node | undefined>((node, key) => node?.children[key], start) !== undefined;
}

/**
 * What is wrong with the names in a machine, one sentence each; empty: nothing.
 *
 * xstate finds some of this late or never: an unknown delay fires at once, an unknown guard or actor breaks the machine
 * when it gets there.
 */
export function checkMachine({ config, implementations }: MachineParts): string[] {
  const root = build(record(config), [], null);
  const nodes = everyNode(root);
  const faults: string[] = [];
  const known = (kind: keyof MachineParts['implementations'], name: unknown, where: string) => {
    const one = kind.slice(0, -1);
    const type = typeof name === 'object' && name !== null && 'type' in name ? name.type : name;
    if (typeof type !== 'string') faults.push(`${where}: ${one} without a name`);
    else if (!(type in implementations[kind])) faults.push(`${where}: unknown ${one} ${type}`);
  };
  const transition = (value: unknown, node: Node, where: string) => {
    for (const one of list(value)) {
      const { target, guard, actions } = typeof one === 'string' ? { target: one } : record(one);
      for (const name of list(target)) {
        if (typeof name !== 'string' || !resolves(name, node, nodes)) faults.push(`${where}: unknown target ${name}`);
      }
      if (guard !== undefined) known('guards', guard, where);
      for (const action of list(actions)) known('actions', action, where);
    }
  };
  for (const node of nodes) {
    const { config: state } = node;
    const name = node.path.join('.') || root.id;
    const isCompound = Object.keys(node.children).length > 0;
    if (typeof state['description'] !== 'string' || state['description'] === '') faults.push(`${name}: no description`);
    if (node !== root && list(record(state['meta'])['spec']).length === 0) faults.push(`${name}: no meta.spec`);
    if (isCompound && !((state['initial'] as string) in node.children)) {
      faults.push(`${name}: unknown initial state ${state['initial']}`);
    }
    for (const [event, value] of Object.entries(record(state['on']))) {
      if (event === '*' || event.endsWith('.*')) faults.push(`${name}: wildcard event ${event}`);
      transition(value, node, `${name} on ${event}`);
    }
    for (const [delay, value] of Object.entries(record(state['after']))) {
      known('delays', delay, `${name} after`);
      transition(value, node, `${name} after ${delay}`);
    }
    transition(state['always'], node, `${name} always`);
    for (const action of [...list(state['entry']), ...list(state['exit'])])
      known('actions', action, `${name} entry or exit`);
    for (const invoke of list(state['invoke']).map(record)) {
      known('actors', invoke['src'], `${name} invoke`);
      if (typeof invoke['id'] !== 'string') faults.push(`${name}: automatic invoke id`);
      transition(invoke['onDone'], node, `${name} invoke done`);
      transition(invoke['onError'], node, `${name} invoke error`);
    }
  }
  return faults;
}

/** The parts of a machine that was made. */
export const partsOf = ({ config, implementations }: AnyStateMachine): MachineParts => ({ config, implementations });
