import type { AnyActorLogic, AnyActorRef, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';

/** One invocation of an actor during a run. */
export interface Invocation {
  actor: string;
  input: unknown;
  /** Index of the step that began it; -1 at the start. */
  step: number;
  /** Events that its parent sent to it, with the index of the step. */
  told: { event: EventObject; step: number }[];
  ended: 'done' | 'error' | null;
  /** It was stopped by its parent before it ended. */
  stopped: boolean;
}

/** What is known of one run while it lasts. */
export interface RunState {
  logic: Readonly<Record<string, AnyActorLogic>>;
  invocations: Invocation[];
  snapshots: AnyMachineSnapshot[];
}

/**
 * The machine with actors that stand for those of whichever run they are invoked in, and note each invocation:
 * `provide` costs more than a whole run, so it is done once.
 */
export function delegating(machine: AnyStateMachine) {
  const states = new WeakMap<object, RunState>();
  const invocations = new WeakMap<object, Invocation>();
  const inputs = new WeakMap<object, unknown>();
  let beginning: RunState | null = null;
  const stateOf = (system: object): RunState => {
    const state = states.get(system) ?? beginning;
    if (state === null) throw new Error('this actor belongs to no run');
    return state;
  };
  const stand = (name: string): AnyActorLogic => {
    const logicOf = (system: object): AnyActorLogic => {
      const logic = stateOf(system).logic[name];
      if (logic === undefined) throw new Error(`the run has no actor ${name}`);
      return logic;
    };
    return {
      getInitialSnapshot: (scope, input) => {
        inputs.set(scope.self, input);
        return logicOf(scope.system).getInitialSnapshot(scope, input);
      },
      start: (snapshot, scope) => {
        const { invocations: all, snapshots } = stateOf(scope.system);
        const invocation: Invocation = {
          actor: name,
          input: inputs.get(scope.self),
          step: snapshots.length - 1,
          told: [],
          ended: null,
          stopped: false,
        };
        invocations.set(scope.self, invocation);
        all.push(invocation);
        logicOf(scope.system).start?.(snapshot, scope);
      },
      transition: (snapshot, event, scope) => {
        const next = logicOf(scope.system).transition(snapshot, event, scope);
        const invocation = invocations.get(scope.self);
        if (invocation === undefined) return next;
        if (event.type === 'xstate.stop') invocation.stopped = true;
        else if (!event.type.startsWith('xstate.')) {
          invocation.told.push({ event, step: stateOf(scope.system).snapshots.length - 1 });
        }
        if (next.status === 'done' || next.status === 'error') invocation.ended = next.status;
        return next;
      },
      getPersistedSnapshot: (snapshot) => snapshot,
    };
  };
  const names = Object.keys(machine.implementations.actors);
  return {
    machine: machine.provide({ actors: Object.fromEntries(names.map((name) => [name, stand(name)])) }),
    /** `create` makes the root actor of the run; its first children are made with it, before its system is known. */
    begin<Root extends AnyActorRef>(state: RunState, create: () => Root): Root {
      beginning = state;
      const root = create();
      beginning = null;
      states.set(root.system, state);
      return root;
    },
  };
}
