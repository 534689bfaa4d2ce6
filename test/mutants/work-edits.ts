import { everyState, invokesOf, listOf, nameOf, type State, stateAt, stateIn } from './config.ts';
import type { Edit, Subject } from './edit.ts';
import { placesOf } from './places.ts';

/** The states with work that are entered with a state: itself, or by way of its initial states and its `always`. */
function workersAt(root: State, state: State, seen: ReadonlySet<State> = new Set()): State[] {
  if (seen.has(state)) return [];
  if (invokesOf(state).length > 0) return [state];
  const more = new Set([...seen, state]);
  const initial = state.children.find(({ path }) => path.at(-1) === state.config['initial']);
  const next = placesOf(root)
    .filter((place) => place.state === state && place.cause === 'always')
    .flatMap(({ list }) => list.flatMap(({ target }) => (target === undefined ? [] : [stateAt(root, state, target)])));
  return [...(initial === undefined ? [] : [initial]), ...next].flatMap((one) => workersAt(root, one, more));
}

/** The state whose work goes on in a state: itself, or the nearest above it. */
function workerOf(state: State): State | null {
  if (invokesOf(state).length > 0) return state;
  return state.parent === null ? null : workerOf(state.parent);
}

const isAbove = (above: State, state: State): boolean => above.path.every((key, at) => key === state.path[at]);

/** Pairs of states with work of which one can follow the other. */
function followers({ root, places }: Subject): [State, State][] {
  const found = new Map<string, [State, State]>();
  const order = everyState(root);
  for (const { state, list } of places) {
    const first = workerOf(state);
    if (first === null) continue;
    for (const { target } of list) {
      if (target === undefined) continue;
      for (const second of workersAt(root, stateAt(root, state, target))) {
        if (isAbove(first, second) || isAbove(second, first)) continue;
        const [one, two] = order.indexOf(first) < order.indexOf(second) ? [first, second] : [second, first];
        found.set(`${nameOf(one)} and ${nameOf(two)}`, [one, two]);
      }
    }
  }
  return [...found.values()];
}

/** Two states that follow each other, each doing the work of the other; and each without its work. */
export function workEdits(subject: Subject): Edit[] {
  const swapped = followers(subject).map(
    ([one, two]): Edit => ({
      kind: 'work swapped',
      place: `${nameOf(one)} and ${nameOf(two)}`,
      change: `work of ${[one, two].map((state) => invokesOf(state).map(({ id }) => id)).join(' and ')} swapped`,
      apply({ config }) {
        const [first, second] = [one, two].map(({ path }) => invokesOf(stateIn(config, path))[0]);
        if (first === undefined || second === undefined) throw new Error('a state without work');
        for (const key of ['id', 'src', 'input']) [first[key], second[key]] = [second[key], first[key]];
      },
    }),
  );
  const dropped = everyState(subject.root).flatMap((state) =>
    invokesOf(state).map(
      ({ id }, at): Edit => ({
        kind: 'work dropped',
        place: nameOf(state),
        change: `work of ${id} dropped`,
        apply({ config }) {
          const { config: edited } = stateIn(config, state.path);
          edited['invoke'] = listOf(edited['invoke']).toSpliced(at, 1);
        },
      }),
    ),
  );
  return [...swapped, ...dropped];
}
