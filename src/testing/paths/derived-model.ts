import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createMachine,
  type EventObject,
  initialTransition,
} from 'xstate';
import { identityOf } from './generate.ts';
import type { Config } from './mutate.ts';
import type { EventCase, InputCase, MachineSuite } from './suite.ts';

const list = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const isTell = (action: unknown): boolean => typeof action === 'string' && action.startsWith('tell');

/** A transition without the actions that tell a child something: a pure model has no children. */
function withoutTells(transition: unknown): unknown {
  if (Array.isArray(transition)) return transition.map(withoutTells);
  if (typeof transition !== 'object' || transition === null || !('actions' in transition)) return transition;
  return { ...transition, actions: list(transition.actions).filter((action) => !isTell(action)) };
}

/**
 * The pure model of a machine's configuration, for `@xstate/test`, which knows neither invokes nor timers: the end of
 * an actor and the end of a timer become events (`xstate.done.actor.<id>`, `timeout.<delay>`). Nothing is written twice.
 */
export function toTestConfig(config: Config): Config {
  const { invoke, after, states, on, input: _input, output: _output, ...rest } = config;
  const events: Config = { ...(on as Config | undefined) };
  for (const one of list(invoke) as Config[]) {
    if (one['onDone'] !== undefined) events[`xstate.done.actor.${one['id']}`] = one['onDone'];
    if (one['onError'] !== undefined) events[`xstate.error.actor.${one['id']}`] = one['onError'];
  }
  for (const [delay, transition] of Object.entries((after ?? {}) as Config)) events[`timeout.${delay}`] = transition;
  return {
    ...rest,
    on: Object.fromEntries(Object.entries(events).map(([event, transition]) => [event, withoutTells(transition)])),
    ...(states === undefined
      ? {}
      : {
          states: Object.fromEntries(
            Object.entries(states as Config).map(([name, state]) => [name, toTestConfig(state as Config)]),
          ),
        }),
  };
}

/** The pure model for one input; the input becomes a constant context, as `@xstate/test` has no input. */
export function derivedMachine(suite: MachineSuite, input: InputCase): AnyStateMachine {
  const { config, implementations } = suite.machine;
  const [{ context }] = initialTransition(suite.machine, input.input) as [AnyMachineSnapshot, unknown];
  const actions = Object.fromEntries(Object.entries(implementations.actions).filter(([name]) => !isTell(name)));
  return createMachine({ ...toTestConfig(config as Config), context }, { guards: implementations.guards, actions });
}

/** The traversal options of a derived model: the suite's event cases, and every step its own target. */
export function derivedOptions(suite: MachineSuite, input: InputCase) {
  const cases: EventCase[] = [
    ...suite.outside,
    ...Object.values(suite.answers).flatMap(({ done, error }) => [...done, ...error]),
    ...Object.keys(suite.delays).map((delay) => ({ label: `after ${delay}`, event: { type: `timeout.${delay}` } })),
  ];
  const labels = new Map(cases.map(({ label, event }) => [JSON.stringify(event), label]));
  const identity = (snapshot: AnyMachineSnapshot) => identityOf(suite, input.input, snapshot);
  const labelOf = (event: EventObject) => labels.get(JSON.stringify(event)) ?? event.type;
  return {
    labelOf,
    options: {
      events: (snapshot: AnyMachineSnapshot): EventObject[] => {
        if (snapshot.status !== 'active') return [];
        const heard = new Set(snapshot._nodes.flatMap((node) => [...node.ownEvents]));
        return cases.filter(({ event }) => heard.has(event.type)).map(({ event }) => event);
      },
      serializeState: (snapshot: AnyMachineSnapshot, event?: EventObject, previous?: AnyMachineSnapshot): string =>
        [
          identity(snapshot),
          ...(event === undefined || previous === undefined ? [] : [labelOf(event), identity(previous)]),
        ].join(' « '),
      serializeEvent: (event: EventObject): string => JSON.stringify(event),
      limit: 50_000,
    },
  };
}
