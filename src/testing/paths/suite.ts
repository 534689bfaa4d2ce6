import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';

/** One thing that can happen to a machine: its name in tables and test titles, and the event that says it. */
export interface EventCase {
  label: string;
  event: EventObject;
}

/** One step of a path: what happens, and what it must lead to. What is undefined is not compared. */
export interface PathStep {
  /** Name of the event case. */
  label: string;
  event: EventObject;
  /** State in which it happens. */
  state: string;
  next: string;
  /** What it changes. */
  effect?: string;
  /** What `identityOf` must say of the machine after this step. */
  identity?: string;
}

/** The ends of one invoked actor, one case for every branch of every guard that reads them. */
export interface Answers {
  done: readonly EventCase[];
  error: readonly EventCase[];
}

/** A machine input; `label` is what the edge table calls it, `group` what it belongs to (`turn`, `compact`). */
export interface InputCase {
  group: string;
  label: string;
  input: object;
  /** What the titles of its paths begin with. */
  says?: string;
  /** The same, said only where titles would be equal without it. */
  aside?: string;
}

/**
 * How titles of paths call what happens. Keys are event cases (`error open`, `after storeBudget`). Where other words
 * are needed: `ABORT in assembling`, for a state and all inside it; `ABORT again`, when it came before on the path;
 * `ABORT again in mirroring`; `done startThread after done compaction: engine`, when that came before. The most
 * particular one counts. A step without words is the normal next one.
 */
export interface Words {
  /** Said in every title. */
  says: Readonly<Record<string, string>>;
  /** Said only where titles would be equal without it. */
  asides: Readonly<Record<string, string>>;
  /** How an outcome is called, where its own name will not do. */
  outcomes?: Readonly<Record<string, string>>;
  /** States that are entered when the outcome is known: what happens in them is said after it. */
  coda?: readonly string[];
}

/**
 * What path generation must be told about one machine; everything else is read from the machine itself.
 * Nothing here comes from its transitions: those are what is under test.
 */
export interface MachineSuite {
  name: string;
  machine: AnyStateMachine;
  inputs: readonly InputCase[];
  /** Events that may come at any time; they are tried in every state, also where nothing listens. */
  outside: readonly EventCase[];
  /** By invoke id. An invoke that is missing here never ends by itself. */
  answers: Readonly<Record<string, Answers>>;
  /** Which budget each named delay must take (milliseconds, in the input's `budgets`). */
  delays: Readonly<Record<string, string>>;
  /**
   * The part of the context that a later guard, or the output, can still read in this state: with the state's id it
   * is the identity of a snapshot. Counters are clamped, so exploration ends.
   */
  facts: (state: string, context: object, input: object) => readonly string[];
  /**
   * Whether the world outside hardly brings this step about: an actor gives an answer that it does not give in this
   * situation. Such steps are paths too, for the machine must stand them, but no path goes by one that need not.
   * Default: none is.
   */
  strange?: (edge: Pick<PathStep, 'label' | 'state'> & { facts: string }, input: object) => boolean;
  /** What a step did to the context, in words; each entry is one changed field. */
  effect: (before: object, after: object, snapshot: AnyMachineSnapshot) => readonly string[];
  /** For the titles of its paths. Default: the event cases as they are. */
  words?: Words;
}

/** `{ a: { b: 'c' } }` is `a.b.c`. Parallel states do not occur here. */
export function stateId(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([key, child]) => `${key}.${stateId(child)}`)
    .join('|');
}

/** The end of an actor with a result. */
export const done = (actor: string, label = '', output?: unknown): EventCase => ({
  label: label === '' ? `done ${actor}` : `done ${actor}: ${label}`,
  event: { type: `xstate.done.actor.${actor}`, output } as EventObject,
});

/** The end of an actor with an error that carries this code. */
export const failed = (actor: string, label = '', code = 'broken'): EventCase => ({
  label: label === '' ? `error ${actor}` : `error ${actor}: ${label}`,
  event: { type: `xstate.error.actor.${actor}`, error: { code, message: `${actor} failed` } } as EventObject,
});

/** An actor whose result and error are read by no guard. */
export const plain = (actor: string): Answers => ({ done: [done(actor)], error: [failed(actor)] });

/** An event from outside. */
export const outside = (event: EventObject, label: string = event.type): EventCase => ({ label, event });

/** The named delay that a step lets run out, or null. */
export const delayOf = ({ label }: Pick<PathStep, 'label'>): string | null =>
  label.startsWith('after ') ? label.slice('after '.length) : null;

/** One `field=value` for each field that differs. */
export function changes(before: object, after: object, fields: readonly string[]): string[] {
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return fields.filter((field) => old[field] !== now[field]).map((field) => `${field}=${text(now[field])}`);
}
