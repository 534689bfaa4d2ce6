import { type AnyMachineSnapshot, getNextTransitions } from 'xstate';
import { type AdjacencyValue, getAdjacencyMap } from 'xstate/graph';
import { type EventCase, type InputCase, type MachineSuite, type PathStep, stateId } from './suite.ts';

/** One step that a machine can take from a node of its graph. */
export interface Edge extends Required<PathStep> {
  from: string;
  to: string;
  facts: string;
}

export interface GraphNode {
  key: string;
  state: string;
  facts: string;
  final: boolean;
  edges: Edge[];
}

/** Everything that one machine can do for one input, by identity of its states. `nodes` is in breadth-first order. */
export interface Graph {
  suite: MachineSuite;
  input: InputCase;
  start: string;
  nodes: ReadonlyMap<string, GraphNode>;
}

/** A way from the start to a final state. */
export interface Path {
  suite: MachineSuite;
  input: InputCase;
  steps: readonly PathStep[];
}

export interface ExploreOptions {
  /** Most steps that are tried before exploration is given up with an error; a machine that never ends is a fault. */
  limit: number;
  /** More of the context than `facts`: for the check that `facts` leaves out nothing that matters. */
  identity?: (context: object) => string;
}

/** About 25 times what the largest machine needs. */
export const exploreDefaults: ExploreOptions = { limit: 50_000 };

const AFTER = /^xstate\.after\.([^.]+)\./;

/** The timers that run in this state, one case each. */
function timers(snapshot: AnyMachineSnapshot): EventCase[] {
  const found = new Map<string, EventCase>();
  for (const { eventType } of getNextTransitions(snapshot)) {
    const delay = AFTER.exec(eventType)?.[1];
    if (delay !== undefined) found.set(eventType, { label: `after ${delay}`, event: { type: eventType } });
  }
  return [...found.values()];
}

/** Everything that can happen in this state: ends of the actors that run, timers that run, events from outside. */
function eventCases(suite: MachineSuite, snapshot: AnyMachineSnapshot): EventCase[] {
  if (snapshot.status !== 'active') return [];
  const ends = Object.keys(snapshot.children).flatMap((actor) => {
    const answers = suite.answers[actor];
    return answers === undefined ? [] : [...answers.done, ...answers.error];
  });
  return [...ends, ...timers(snapshot), ...suite.outside];
}

/**
 * Explores the machine for one input with `xstate/graph`. An actor ends once: a state that outlives the end of its
 * actor (`onDone: {}`) is told apart from the same state before, by the fact `<actor> ended`.
 *
 * Throws `Traversal limit exceeded` when the machine does not stop finding new states.
 */
export function explore(suite: MachineSuite, input: InputCase, options: Partial<ExploreOptions> = {}): Graph {
  const { limit, identity } = { ...exploreDefaults, ...options };
  const labels = new Map<string, string>();
  const serialize = (snapshot: AnyMachineSnapshot) =>
    [
      identityOf(suite, input.input, snapshot),
      ...(identity === undefined ? [] : [identity(snapshot.context as object)]),
    ].join(', ');
  const map = getAdjacencyMap(suite.machine, {
    input: input.input,
    limit,
    serializeState: (snapshot) => serialize(snapshot as AnyMachineSnapshot),
    serializeEvent: (event) => JSON.stringify(event),
    events: (snapshot) => {
      const cases = eventCases(suite, snapshot as AnyMachineSnapshot);
      for (const { event, label } of cases) labels.set(JSON.stringify(event), label);
      return cases.map(({ event }) => event);
    },
  });
  const adjacency = new Map(
    Object.entries(map as Record<string, AdjacencyValue<AnyMachineSnapshot, EventCase['event']>>),
  );
  const nodes = new Map<string, GraphNode>();
  const queue: { key: string; base: string; ended: readonly string[] }[] = [];
  const visit = (base: string, ended: readonly string[]): string => {
    const key = [base, ...ended].join(', ');
    if (nodes.has(key)) return key;
    const snapshot = adjacency.get(base)?.state;
    if (snapshot === undefined) throw new Error(`no state ${base} in the graph of ${suite.name}`);
    const facts = [...factsOf(suite, input.input, snapshot), ...ended.map((actor) => `${actor} ended`)].join(', ');
    const state = stateId(snapshot.value);
    nodes.set(key, { key, state, facts, final: snapshot.status !== 'active', edges: [] });
    queue.push({ key, base, ended });
    return key;
  };
  const start = visit([...adjacency.keys()][0] ?? '', []);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { key, base, ended } = next;
    const node = nodes.get(key);
    const from = adjacency.get(base);
    if (node === undefined || from === undefined) continue;
    const before = from.state;
    for (const { event, state: after } of Object.values<{ event: EventCase['event']; state: AnyMachineSnapshot }>(
      from.transitions,
    )) {
      const actor = actorOf(event.type);
      if (actor !== null && ended.includes(actor)) continue;
      const stillEnded = (actor === null ? ended : [...ended, actor])
        .filter((id) => before.children[id] === after.children[id])
        .sort();
      const to = visit(serialize(after), after.status === 'active' ? stillEnded : []);
      node.edges.push({
        from: key,
        to,
        label: labels.get(JSON.stringify(event)) ?? event.type,
        event,
        state: node.state,
        facts: node.facts,
        next: stateId(after.value),
        effect: effectOf(suite, before, after),
        identity: identityOf(suite, input.input, after),
      });
    }
  }
  return { suite, input, start, nodes };
}

function factsOf(suite: MachineSuite, input: object, snapshot: AnyMachineSnapshot): readonly string[] {
  if (snapshot.status === 'error') return ['machine error'];
  return suite.facts(stateId(snapshot.value), snapshot.context as object, input);
}

/** The identity of a snapshot: state, status and the facts that still matter there. */
export function identityOf(suite: MachineSuite, input: object, snapshot: AnyMachineSnapshot): string {
  return [stateId(snapshot.value), snapshot.status, ...factsOf(suite, input, snapshot)].join(', ');
}

/** What a step did to the context, as the edge table writes it. */
export function effectOf(suite: MachineSuite, before: AnyMachineSnapshot, after: AnyMachineSnapshot): string {
  if (after.status === 'error') return 'machine error';
  return suite.effect(before.context as object, after.context as object, after).join(', ');
}

/** The actor whose end an event reports, or null. */
export function actorOf(type: string): string | null {
  return /^xstate\.(?:done|error)\.actor\.(.+)$/.exec(type)?.[1] ?? null;
}

/** The graphs of all inputs of a machine. */
export function exploreAll(suite: MachineSuite, options: Partial<ExploreOptions> = {}): Graph[] {
  return suite.inputs.map((input) => explore(suite, input, options));
}

/** The edge without facts, effect and input: state, event case, next state. */
export const reduced = (edge: PathStep): string => `${edge.state} | ${edge.label} | ${edge.next}`;
/** The edge as a line of the frozen table has it, without the inputs. */
export const detailed = (edge: Edge): string =>
  `${edge.state} | ${edge.facts} | ${edge.label} | ${edge.next} | ${edge.effect}`;
/** Two consecutive edges. */
export const pair = (first: PathStep, second: PathStep): string => `${reduced(first)} » ${reduced(second)}`;

const edgesOf = (graph: Graph): Edge[] => [...graph.nodes.values()].flatMap((node) => node.edges);
const after = (graph: Graph, edge: Edge): readonly Edge[] => graph.nodes.get(edge.to)?.edges ?? [];

/** All reduced edges and all pairs of them that some input makes possible, and the detailed edges. */
export function targets(graphs: readonly Graph[]): { edges: Set<string>; pairs: Set<string>; details: Set<string> } {
  const found = { edges: new Set<string>(), pairs: new Set<string>(), details: new Set<string>() };
  for (const graph of graphs) {
    for (const edge of edgesOf(graph)) {
      found.edges.add(reduced(edge));
      found.details.add(detailed(edge));
      for (const second of after(graph, edge)) found.pairs.add(pair(edge, second));
    }
  }
  return found;
}

/** Steps that the world outside hardly brings about cost as much as this many others. */
const STRANGE_COST = 50;

/** Cheapest ways: to each node from the start (`into`, the last edge), and from each node to a final one (`out`). */
function cheapestWays(graph: Graph): { into: Map<string, Edge>; out: Map<string, Edge> } {
  const edges = edgesOf(graph);
  const finals = [...graph.nodes.values()].filter((node) => node.final).map((node) => node.key);
  return {
    into: cheapestTree(graph, [graph.start], groupBy(edges, 'from'), 'to'),
    out: cheapestTree(graph, finals, groupBy(edges, 'to'), 'from'),
  };
}

function groupBy(edges: readonly Edge[], end: 'from' | 'to'): Map<string, Edge[]> {
  const groups = new Map<string, Edge[]>();
  for (const edge of edges) groups.set(edge[end], [...(groups.get(edge[end]) ?? []), edge]);
  return groups;
}

/** Dijkstra's: by which edge each node is reached most cheaply from the roots. Ties go to the edge that is listed first. */
function cheapestTree(
  graph: Graph,
  roots: readonly string[],
  leaving: ReadonlyMap<string, readonly Edge[]>,
  far: 'from' | 'to',
): Map<string, Edge> {
  const costs = new Map(roots.map((root) => [root, 0]));
  const by = new Map<string, Edge>();
  const open = new Set(roots);
  while (open.size > 0) {
    const cost = (key: string) => costs.get(key) ?? Number.POSITIVE_INFINITY;
    const key = [...open].reduce((one, other) => (cost(other) < cost(one) ? other : one));
    open.delete(key);
    for (const edge of leaving.get(key) ?? []) {
      const next = edge[far];
      const sum = cost(key) + (isStrange(graph, edge) ? STRANGE_COST : 1);
      if (sum >= cost(next)) continue;
      costs.set(next, sum);
      by.set(next, edge);
      open.add(next);
    }
  }
  return by;
}

const isStrange = ({ suite, input }: Graph, edge: Edge): boolean => suite.strange?.(edge, input.input) === true;

/**
 * Paths from start to a final state that cover every detailed edge and, unless only `edges` are wanted, every pair of
 * reduced edges, each under at least one input of every group that has it. Deep ones come first: their prefixes cover
 * most of the shallow ones.
 */
export function coveringPaths(graphs: readonly Graph[], wanted: 'edges' | 'pairs' = 'pairs'): Path[] {
  const covered = new Set<string>();
  const paths: Path[] = [];
  const ways = graphs.map((graph) => ({ graph, ...cheapestWays(graph) }));
  // First what can well be, under whichever input; then what is left.
  for (const strangeToo of [false, true]) {
    for (const { graph, into, out } of ways) {
      const prefix = (key: string): Edge[] => {
        const steps: Edge[] = [];
        for (let edge = into.get(key); edge !== undefined; edge = into.get(edge.from)) steps.unshift(edge);
        return steps;
      };
      const suffix = (key: string): Edge[] => {
        const steps: Edge[] = [];
        for (let edge = out.get(key); edge !== undefined; edge = out.get(edge.to)) steps.push(edge);
        return steps;
      };
      const { group } = graph.input;
      const own = (what: string): string => `${group}: ${what}`;
      const isCovered = (what: string): boolean => covered.has(own(what));
      const add = (steps: readonly Edge[]) => {
        if (!strangeToo && steps.some((edge) => isStrange(graph, edge))) return;
        paths.push({ suite: graph.suite, input: graph.input, steps });
        steps.forEach((edge, index) => {
          covered.add(own(detailed(edge)));
          const second = steps[index + 1];
          if (second !== undefined) covered.add(own(pair(edge, second)));
        });
      };
      for (const first of edgesOf(graph).reverse()) {
        const seconds = after(graph, first);
        for (const second of seconds) {
          const paired = wanted === 'edges' || isCovered(pair(first, second));
          if (paired && isCovered(detailed(first)) && isCovered(detailed(second))) continue;
          add([...prefix(first.from), first, second, ...suffix(second.to)]);
        }
        if (seconds.length === 0 && !isCovered(detailed(first))) add([...prefix(first.from), first]);
      }
      if (!strangeToo && graph.nodes.get(graph.start)?.final === true) add([]);
    }
  }
  return paths;
}

/** Every step of a path by its label: tells it from all others of its machine, at length. See `pathTitles`. */
export function pathTitle(path: Path): string {
  const input = [path.input.group, path.input.label].filter((part) => part !== '').join(' ');
  const last = path.steps.at(-1)?.next ?? 'at once';
  return `[${input}] ${[...path.steps.map((edge) => edge.label), last].join(' → ')}`;
}
