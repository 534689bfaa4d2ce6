import type { Config } from '../../src/testing/paths/mutate.ts';

/** One transition as `normalised` writes it. */
export interface Transition {
  target?: string;
  guard?: string;
  actions?: readonly string[];
  reenter?: boolean;
}

/** One state of a configuration. */
export interface State {
  path: readonly string[];
  config: Config;
  children: readonly State[];
  parent: State | null;
}

export const isConfig = (value: unknown): value is Config => typeof value === 'object' && value !== null;
export const listOf = (value: unknown): unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error(`the mutants know only names, and this is ${typeof value}`);
  return value;
};

function transition(value: unknown): Transition {
  if (!isConfig(value)) return { target: text(value) };
  const { target, guard, actions, reenter, ...rest } = value;
  const unknown = Object.keys(rest).filter((key) => key !== 'description');
  if (unknown.length > 0) throw new Error(`the mutants do not know a transition's ${unknown.join(', ')}`);
  return {
    ...(target === undefined ? {} : { target: text(target) }),
    ...(guard === undefined ? {} : { guard: text(guard) }),
    ...(actions === undefined ? {} : { actions: listOf(actions).map(text) }),
    ...(reenter === true ? { reenter } : {}),
  };
}

/** The transitions of one event, as a configuration has them. */
export const transitions = (value: unknown): Transition[] => listOf(value).map(transition);
const eachValue = (config: unknown): Config =>
  Object.fromEntries(Object.entries(isConfig(config) ? config : {}).map(([key, value]) => [key, transitions(value)]));

/** Keys of a state that a mutant can be made of, or that do not act. Others would be passed over in silence. */
const KNOWN = new Set(
  'id description meta type context input output initial states on after always invoke options schemas'.split(' '),
);

/** A configuration in its longest form, which is the same machine: every transition an object, in a list. */
export function normalised(config: Config): Config {
  const unknown = Object.keys(config).filter((key) => !KNOWN.has(key));
  if (unknown.length > 0) throw new Error(`the mutants do not know a state's ${unknown.join(', ')}`);
  const { on, after, always, invoke, states } = config;
  const invokes = listOf(invoke).map((one) => {
    if (!isConfig(one)) throw new Error('an invoke is no object');
    const { onDone, onError, ...rest } = one;
    return {
      ...rest,
      ...(onDone === undefined ? {} : { onDone: transitions(onDone) }),
      ...(onError === undefined ? {} : { onError: transitions(onError) }),
    };
  });
  return {
    ...config,
    ...(on === undefined ? {} : { on: eachValue(on) }),
    ...(after === undefined ? {} : { after: eachValue(after) }),
    ...(always === undefined ? {} : { always: transitions(always) }),
    ...(invoke === undefined ? {} : { invoke: invokes }),
    ...(isConfig(states)
      ? {
          states: Object.fromEntries(
            Object.entries(states).map(([key, state]) => [key, normalised(isConfig(state) ? state : {})]),
          ),
        }
      : {}),
  };
}

/** The root of a configuration, with all below it. */
export function stateTree(config: Config, path: readonly string[] = [], parent: State | null = null): State {
  const children: State[] = [];
  const state: State = { path, config, children, parent };
  for (const [key, child] of Object.entries(isConfig(config['states']) ? config['states'] : {})) {
    if (isConfig(child)) children.push(stateTree(child, [...path, key], state));
  }
  return state;
}

/** A state and all below it, in the order of the file. */
export const everyState = (state: State): State[] => [state, ...state.children.flatMap(everyState)];

export const nameOf = ({ path }: State): string => path.join('.') || '(root)';

/** How every state can be named from everywhere. */
export const addressOf = (root: State, { path }: State): string => `#${[root.config['id'], ...path].join('.')}`;

/** The state that a target names. */
export function stateAt(root: State, from: State, target: string): State {
  const [first = '', ...rest] = target.replace(/^[.#]/, '').split('.');
  const childOf = (state: State | null | undefined, key: string) =>
    state?.children.find(({ path }) => path.at(-1) === key);
  const start = target.startsWith('#')
    ? everyState(root).find(({ config }) => config['id'] === first)
    : childOf(target.startsWith('.') ? from : from.parent, first);
  const found = rest.reduce((state, key) => childOf(state, key), start);
  if (found === undefined) throw new Error(`${nameOf(from)} has an unknown target ${target}`);
  return found;
}

/** The invokes of a state. */
export const invokesOf = ({ config }: State): Config[] => listOf(config['invoke']).filter(isConfig);

/** The state with this path in a configuration. */
export function stateIn(config: Config, path: readonly string[]): State {
  const found = everyState(stateTree(config)).find((state) => state.path.join('.') === path.join('.'));
  if (found === undefined) throw new Error(`the copy has no state ${path.join('.')}`);
  return found;
}
