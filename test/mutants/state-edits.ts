import { everyState, invokesOf, isConfig, nameOf, stateIn } from './config.ts';
import { type Edit, neighbours, type Subject } from './edit.ts';

type Compute = (args: { context?: unknown; event?: unknown; input?: unknown }) => unknown;
const isCompute = (value: unknown): value is Compute => typeof value === 'function';

/** Paths to all that is no object, in a value. */
function leaves(value: unknown, path: readonly string[] = []): string[][] {
  if (!isConfig(value)) return [[...path]];
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]));
}

function otherThan(value: unknown): unknown {
  switch (typeof value) {
    case 'boolean':
      return !value;
    case 'number':
      return value + 1;
    case 'string':
      return `not ${value}`;
    default:
      return undefined;
  }
}

/** A copy of a value with one leaf changed. */
function withLeaf(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return otherThan(value);
  return isConfig(value) ? { ...value, [key]: withLeaf(value[key], rest) } : value;
}

/** The context with which a machine begins. */
function firstContext({ suite, config }: Subject): unknown {
  const { context } = config;
  return isCompute(context) ? context({ input: suite.inputs.at(-1)?.input }) : context;
}

/** Each field of what an actor is given, changed. */
function inputEdits(subject: Subject): Edit[] {
  const context = firstContext(subject);
  return everyState(subject.root).flatMap((state) =>
    invokesOf(state).flatMap(({ id, input }, at) =>
      (isCompute(input) ? leaves(input({ context })) : []).map(
        (leaf): Edit => ({
          kind: 'input changed',
          place: nameOf(state),
          change: `${leaf.join('.')} of ${id} changed`,
          apply({ config }) {
            const invoke = invokesOf(stateIn(config, state.path))[at];
            if (invoke !== undefined && isCompute(input))
              invoke['input'] = (args: never) => withLeaf(input(args), leaf);
          },
        }),
      ),
    ),
  );
}

/** Where a machine begins, where it ends, and what it says then. */
function outlineEdits(subject: Subject): Edit[] {
  const { root, config } = subject;
  const states = everyState(root);
  const initial = states.flatMap((state) => {
    const first = state.children.find(({ path }) => path.at(-1) === state.config['initial']);
    return (first === undefined ? [] : neighbours(state.children, first)).map(
      (other): Edit => ({
        kind: 'initial state changed',
        place: nameOf(state),
        change: `begins in ${other.path.at(-1)}`,
        apply: (parts) => {
          stateIn(parts.config, state.path).config['initial'] = other.path.at(-1);
        },
      }),
    );
  });
  const finals = states
    .filter((state) => state.config['type'] === 'final')
    .map(
      (state): Edit => ({
        kind: 'final state opened',
        place: nameOf(state),
        change: 'no longer final',
        apply: (parts) => {
          delete stateIn(parts.config, state.path).config['type'];
        },
      }),
    );
  const context = firstContext(subject);
  const given = new Set(Object.keys(subject.suite.inputs[0]?.input ?? {}));
  const starts = Object.entries(isConfig(context) ? context : {})
    .filter(([field, value]) => !given.has(field) && ['boolean', 'number'].includes(typeof value))
    .map(
      ([field, value]): Edit => ({
        kind: 'start value changed',
        place: 'context',
        change: `${field} is ${otherThan(value)} at the start`,
        apply: (parts) => {
          const { context: make } = parts.config;
          if (isCompute(make)) parts.config['context'] = (args: never) => withLeaf(make(args), [field]);
        },
      }),
    );
  const { output } = config;
  const fields = isCompute(output) ? Object.keys(Object(output({ context }))) : [];
  const outputs = fields.map(
    (field): Edit => ({
      kind: 'output dropped',
      place: 'output',
      change: `${field} dropped`,
      apply: (parts) => {
        parts.config['output'] = (args: never) => {
          const { [field]: _dropped, ...rest } = Object(isCompute(output) ? output(args) : {});
          return rest;
        };
      },
    }),
  );
  return [...initial, ...finals, ...starts, ...outputs];
}

/** Each named delay reading the milliseconds of another one. */
function delayEdits({ suite }: Subject): Edit[] {
  const { delays } = suite.machine.implementations;
  return Object.keys(delays).flatMap((name) =>
    neighbours(Object.keys(delays), name)
      .slice(0, 1)
      .map(
        (other): Edit => ({
          kind: 'delay replaced',
          place: 'delays',
          change: `${name} lasts as long as ${other}`,
          apply: ({ implementations }) => {
            const delay = delays[other];
            if (delay !== undefined) implementations.delays[name] = delay;
          },
        }),
      ),
  );
}

/** One fault for everything that is written beside the transitions and the work of a machine. */
export const stateEdits = (subject: Subject): Edit[] => [
  ...inputEdits(subject),
  ...outlineEdits(subject),
  ...delayEdits(subject),
];
