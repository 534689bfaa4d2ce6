import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition } from 'xstate';
import { AttemptError } from '../../errors.ts';
import { type Invariant, violations } from '../invariants/invariant.ts';
import { invariantsOf } from '../invariants/of-machine.ts';
import { suites } from '../suites/index.ts';
import { inputName } from './counts.ts';
import { createExecutor, deferredActors } from './execute.ts';
import { nearest } from './nearest.ts';
import { type EventCase, type InputCase, type MachineSuite, type PathStep, stateId } from './suite.ts';

/**
 * A step as plain data: what happens (the name of an event case, `done open: no file`, `ABORT`, `after storeBudget`), the
 * state that it must lead to (`bootstrap.draining`), and what it must change (`stop=abort`; '' for nothing). Without the
 * last one what it changes is not compared.
 */
export type PlainStep = readonly [event: string, state: string, effect?: string];

/** A path as plain data, from the start to a final state. `input`: the name of a machine input (`turn none`, `any`). */
export interface PlainPath {
  input: string;
  steps: readonly PlainStep[];
}

/** Resolves when the machine went the whole path. Rejects with an error that says where it did not, or what broke. */
export type PathRunner = (path: PlainPath) => Promise<void>;

export interface PathRunnerOptions {
  /** `attempt`, `turn`, `compaction`, `app-server`, or a suite of one's own. */
  machine: string | MachineSuite;
  /** The machine that runs, in place of the suite's. Its actors are replaced by ones that the path ends. */
  chart?: AnyStateMachine;
  /** What must hold at the end of each path. Default: all that is known of the machine; `[]` for nothing. */
  invariants?: readonly Invariant[];
  /** Resolves when what a step has set off has come to rest. Default: one macrotask, of real timers. */
  rest?: () => Promise<void>;
}

// Taken now: a test may put fake timers in their place.
const { setImmediate: immediate } = globalThis;
const macrotask = (): Promise<void> => new Promise((resolve) => immediate(resolve));

/**
 * Makes the function that leads a machine along paths. It compares, after each step, the state and what the step
 * changed with what the path says, and at the end checks the invariants. Runs may overlap.
 *
 * Throws AttemptError `usage` when there is no such machine. The function rejects with AttemptError `usage` when the
 * machine has no such input or event case, and otherwise with an error that names the step, or the specification number
 * of the invariant.
 */
export function createPathRunner(options: PathRunnerOptions): PathRunner {
  const { chart, rest = macrotask } = options;
  const known = typeof options.machine === 'string' ? suiteOf(options.machine) : options.machine;
  const suite = chart === undefined ? known : { ...known, machine: chart };
  const { invariants = invariantsOf(suite.name) } = options;
  const execute = createExecutor(suite);
  const cases = eventCases(suite);
  return async (plain) => {
    const input = inputOf(suite, plain.input);
    const path = { suite, input, steps: stepsOf(suite, cases, input, plain.steps) };
    const run = await execute(path, deferredActors(suite, rest));
    if (run.mismatch !== null) throw new Error(`${suite.name}, ${plain.input}: ${run.mismatch}`);
    const broken = violations(invariants, run);
    if (broken.length > 0) {
      throw new Error(
        `${suite.name}, ${plain.input}: the path breaks what the specification says\n${broken.join('\n')}`,
      );
    }
  };
}

function suiteOf(name: string): MachineSuite {
  const suite = suites.find((one) => one.name === name);
  if (suite === undefined)
    throw unknown(
      'machine',
      name,
      suites
        .map((one) => one.name)
        .map((one) => `\`${one}\``)
        .join(', '),
    );
  return suite;
}

function inputOf(suite: MachineSuite, name: string): InputCase {
  const input = suite.inputs.find((one) => inputName(one) === name);
  if (input === undefined) throw unknown(`input of ${suite.name}`, name, nearest(name, suite.inputs.map(inputName)));
  return input;
}

/** Every event case of a suite by its name, timers too. */
function eventCases({ outside, answers, delays }: MachineSuite): Map<string, EventCase> {
  const timers = Object.keys(delays).map((delay) => ({
    label: `after ${delay}`,
    event: { type: `xstate.after.${delay}` },
  }));
  const ends = Object.values(answers).flatMap(({ done, error }) => [...done, ...error]);
  return new Map([...outside, ...ends, ...timers].map((one) => [one.label, one]));
}

function stepsOf(
  suite: MachineSuite,
  cases: ReadonlyMap<string, EventCase>,
  { input }: InputCase,
  steps: readonly PlainStep[],
): PathStep[] {
  const [first] = initialTransition(suite.machine, input) as [AnyMachineSnapshot, unknown];
  return steps.map(([label, next, effect], at) => {
    const found = cases.get(label);
    if (found === undefined) {
      throw unknown(`event of ${suite.name} in step ${at + 1}`, label, nearest(label, [...cases.keys()]));
    }
    const state = steps[at - 1]?.[1] ?? stateId(first.value);
    return { label, event: found.event, state, next, ...(effect === undefined ? {} : { effect }) };
  });
}

function unknown(what: string, name: string, others: string): AttemptError {
  return new AttemptError('usage', `unknown ${what}: \`${name}\`; there is ${others}`);
}
