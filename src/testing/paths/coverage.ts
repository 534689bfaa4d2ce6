import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
} from 'xstate';
import { type Graph, type Path, pair, reduced, targets } from './generate.ts';
import type { MachineSuite } from './suite.ts';

/** One line of the coverage table: what was met of what exists, and the names of what was not. */
export interface CoverageRow {
  what: 'states' | 'transitions' | 'guard outcomes' | 'edges' | 'pairs';
  met: number;
  of: number;
  missing: string[];
}

/** Collects, over the runs of many paths, what of a machine was really exercised. */
export interface Coverage {
  /** The machine with guards that note their outcomes; otherwise the same. */
  machine: AnyStateMachine;
  /** Called with each microstep of a run. */
  microstep(snapshot: AnyMachineSnapshot, transitions: readonly AnyTransitionDefinition[]): void;
  /** Called with each path that ran to its end. */
  path(path: Path): void;
  rows(graphs: readonly Graph[]): CoverageRow[];
}

function allNodes(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(allNodes)];
}

/** All transitions of a state node, named by source, event and place in the list. */
function definitions(node: AnyStateNode): string[] {
  const lists = [...node.transitions.values(), node.always ?? []];
  return lists.flatMap((list) => list.map((_, index) => nameOf(node.id, list[0]?.eventType ?? '', index)));
}

const nameOf = (source: string, eventType: string, index: number): string =>
  `${source} on ${eventType === '' ? 'always' : eventType} #${index + 1}`;

function nameOfTaken(transition: AnyTransitionDefinition): string {
  const { source, eventType } = transition;
  const list = eventType === '' ? (source.always ?? []) : (source.transitions.get(eventType) ?? []);
  return nameOf(source.id, eventType, list.indexOf(transition));
}

/** An inspector of a root actor that tells its microsteps. */
export function watchMicrosteps(coverage: Coverage | undefined): (event: InspectionEvent) => void {
  return (event) => {
    if (event.type !== '@xstate.microstep' || event.actorRef.sessionId !== event.rootId) return;
    coverage?.microstep(event.snapshot as AnyMachineSnapshot, event._transitions);
  };
}

export function createCoverage(suite: MachineSuite): Coverage {
  const met = {
    states: new Set<string>(),
    transitions: new Set<string>(),
    guards: new Set<string>(),
    edges: new Set<string>(),
    pairs: new Set<string>(),
  };
  const guards = Object.entries(suite.machine.implementations.guards);
  const watched = guards.map(([name, guard]) => [
    name,
    (args: never, params: never) => {
      const outcome = typeof guard === 'function' ? guard(args, params) : guard;
      met.guards.add(`${name} is ${outcome}`);
      return outcome;
    },
  ]);
  const row = (what: CoverageRow['what'], all: Iterable<string>, seen: ReadonlySet<string>): CoverageRow => {
    const names = [...new Set(all)];
    const missing = names.filter((name) => !seen.has(name));
    return { what, met: names.length - missing.length, of: names.length, missing };
  };
  return {
    machine: suite.machine.provide({ guards: Object.fromEntries(watched) }),
    microstep(snapshot, transitions) {
      for (const node of snapshot._nodes) met.states.add(node.id);
      for (const transition of transitions) {
        // A state that is left at once is seen only as the source of what leaves it.
        met.states.add(transition.source.id);
        met.transitions.add(nameOfTaken(transition));
      }
    },
    path({ steps }) {
      steps.forEach((edge, index) => {
        met.edges.add(reduced(edge));
        const second = steps[index + 1];
        if (second !== undefined) met.pairs.add(pair(edge, second));
      });
    },
    rows(graphs) {
      const nodes = allNodes(suite.machine.root);
      const wanted = targets(graphs);
      return [
        row(
          'states',
          nodes.map(({ id }) => id),
          met.states,
        ),
        row('transitions', nodes.flatMap(definitions), met.transitions),
        row(
          'guard outcomes',
          guards.flatMap(([name]) => [`${name} is true`, `${name} is false`]),
          met.guards,
        ),
        row('edges', wanted.edges, met.edges),
        row('pairs', wanted.pairs, met.pairs),
      ];
    },
  };
}

/** `attempt: states 41/41, transitions 120/120, …`, one line. */
export function coverageLine(name: string, rows: readonly CoverageRow[], paths: number): string {
  return `${name}: ${rows.map(({ what, met, of }) => `${what} ${met}/${of}`).join(', ')}, paths ${paths}`;
}
