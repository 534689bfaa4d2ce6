import type { Graph, Path } from '../../src/testing/paths/generate.ts';
import type { PathStep } from '../../src/testing/paths/suite.ts';

const START = '(start)';

const keyOf = (before: string, { state, label, identity, effect }: PathStep): string =>
  [before, state, label, identity, effect].join(' | ');

/** Every step of a graph, with the identity of the state that it is taken in. */
export function stepsOf({ start, nodes }: Graph): ReadonlySet<string> {
  const edges = [...nodes.values()].flatMap((node) => node.edges);
  const identities = new Map(edges.map(({ to, identity }) => [to, identity]));
  return new Set(
    edges.flatMap((edge) => [
      ...(edge.from === start ? [keyOf(START, edge)] : []),
      keyOf(identities.get(edge.from) ?? START, edge),
    ]),
  );
}

/** Whether a path takes a step that is not among these. Without one it is a path of the machine itself. */
export const isNew = ({ steps }: Path, known: ReadonlySet<string>): boolean =>
  steps.some((step, at) => !known.has(keyOf(steps[at - 1]?.identity ?? START, step)));
