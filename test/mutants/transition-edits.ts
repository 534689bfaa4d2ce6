import { addressOf, nameOf, type State, stateAt, type Transition } from './config.ts';
import {
  type Edit,
  type Implementations,
  neighbours,
  ordinal,
  type Parts,
  placeIn,
  put,
  type Subject,
} from './edit.ts';
import { type Cause, delayOfPlace, type Place } from './places.ts';

const DROPPED: Readonly<Record<Cause, string>> = {
  error: 'error edge dropped',
  abort: 'abort edge dropped',
  timeout: 'timeout removed',
  always: 'always dropped',
  event: 'event edge dropped',
};

/** The other states that somebody could have meant: the siblings beside the target; for a final state, finals. */
function wrongTargets(target: State): State[] {
  const siblings = target.parent?.children ?? [];
  const finals = siblings.filter(({ config }) => config['type'] === 'final');
  return neighbours(finals.includes(target) && finals.length > 1 ? finals : siblings, target);
}

function addNegation({ guards }: Implementations, name: string): string {
  const guard = guards[name];
  const negated = `not ${name}`;
  guards[negated] = (args, params) => {
    if (typeof guard !== 'function') throw new Error(`the guard ${name} is no function`);
    return !guard(args, params);
  };
  return negated;
}

/** What can be wrong with one transition. */
function ofOne({ suite, root }: Subject, place: Place, transition: Transition) {
  const found: { kind: string; change: string; make(parts: Parts): Transition | null }[] = [];
  const { target, guard, actions = [] } = transition;
  const next = (kind: 'guards' | 'actions', name: string) =>
    neighbours(Object.keys(suite.machine.implementations[kind]), name).slice(0, 1);
  if (guard !== undefined) {
    const { guard: _guard, ...without } = transition;
    found.push({ kind: 'guard dropped', change: `guard ${guard} dropped`, make: () => without });
    found.push({
      kind: 'guard negated',
      change: `guard ${guard} negated`,
      make: ({ implementations }) => ({ ...transition, guard: addNegation(implementations, guard) }),
    });
    for (const other of next('guards', guard)) {
      const change = `guard ${other} instead of ${guard}`;
      found.push({ kind: 'guard replaced', change, make: () => ({ ...transition, guard: other }) });
    }
  }
  const right = target === undefined ? null : stateAt(root, place.state, target);
  for (const wrong of wrongTargets(right ?? place.state)) {
    found.push({
      kind: 'edge retargeted',
      change: `to ${nameOf(wrong)} instead of ${right === null ? 'staying' : nameOf(right)}`,
      make: () => ({ ...transition, target: addressOf(root, wrong) }),
    });
  }
  actions.forEach((action, at) => {
    const without = [...actions.slice(0, at), ...actions.slice(at + 1)];
    found.push({
      kind: 'action dropped',
      change: `action ${action} dropped`,
      make: () => ({ ...transition, actions: without }),
    });
    for (const other of next('actions', action)) {
      found.push({
        kind: 'action replaced',
        change: `action ${other} instead of ${action}`,
        make: () => ({ ...transition, actions: actions.with(at, other) }),
      });
    }
  });
  found.push({ kind: DROPPED[place.cause], change: 'dropped', make: () => null });
  return found;
}

/** What can be wrong with the transitions of one place together. */
function ofList({ suite }: Subject, place: Place, index: number): Edit[] {
  const where = `${nameOf(place.state)} ${place.where}`;
  const swaps = place.list.slice(1).map(
    (_, at): Edit => ({
      kind: 'order swapped',
      place: where,
      change: `#${at + 2} before #${at + 1}`,
      apply({ config }) {
        const { list, replace } = placeIn(config, index);
        replace([...list.slice(0, at), ...list.slice(at, at + 2).reverse(), ...list.slice(at + 2)]);
      },
    }),
  );
  if (place.cause !== 'timeout') return swaps;
  const delays = Object.keys(suite.machine.implementations.delays);
  const changed = neighbours(delays, delayOfPlace(place))
    .slice(0, 1)
    .map(
      (other): Edit => ({
        kind: 'timeout changed',
        place: where,
        change: `after ${other} instead`,
        apply({ config }) {
          const { state, list, replace } = placeIn(config, index);
          replace([]);
          state.config['after'] = { ...Object(state.config['after']), [other]: list };
        },
      }),
    );
  return [...swaps, ...changed];
}

/** One fault for everything that is written in the transitions of a machine. */
export function transitionEdits(subject: Subject): Edit[] {
  return subject.places.flatMap((place, index) => [
    ...place.list.flatMap((transition, at) =>
      ofOne(subject, place, transition).map(
        ({ kind, change, make }): Edit => ({
          kind,
          place: `${nameOf(place.state)} ${place.where}${ordinal(place, at)}`,
          change,
          apply: (parts) => put(placeIn(parts.config, index), at, make(parts)),
        }),
      ),
    ),
    ...ofList(subject, place, index),
  ]);
}
