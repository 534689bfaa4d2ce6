import type { AnyMachineSnapshot } from 'xstate';
import type { Invocation } from './delegating.ts';
import { effectOf, identityOf, type Path } from './generate.ts';
import { type MachineSuite, type PathStep, stateId } from './suite.ts';

/** What happened on one path. */
export interface Run {
  path: Path;
  /** The snapshot at the start and after each step. */
  snapshots: readonly AnyMachineSnapshot[];
  invocations: readonly Invocation[];
  /** What ran on after the end. */
  live: readonly string[];
  /** Where the machine left the path, or null. */
  mismatch: string | null;
}

/** A machine under way, as a walk sees it. */
export interface Walker {
  /** Makes a step happen. A throw ends the walk there. */
  take(step: PathStep, index: number): void | Promise<void>;
  /** Resolves with the machine's snapshot once what was set off has come to rest. */
  rest(): Promise<AnyMachineSnapshot>;
  /** What the machine broke with, or null. */
  broken(): unknown;
  /** Whether an effect is the expected one. Default: it is written the same. */
  sameEffect?(expected: string, found: string): boolean;
}

/**
 * Leads a machine along a path and compares, after each step, where it is and what the step did with what the path
 * says. Resolves with the first difference, or null. `snapshots` gets the snapshot at the start and after each step.
 */
export async function walk(
  suite: MachineSuite,
  path: Path,
  walker: Walker,
  snapshots: AnyMachineSnapshot[],
): Promise<string | null> {
  const { sameEffect = (expected, found) => expected === found } = walker;
  const rest = async (): Promise<AnyMachineSnapshot> => {
    const snapshot = await walker.rest();
    snapshots.push(snapshot);
    return snapshot;
  };
  let before = await rest();
  if (walker.broken() !== null) return `start: the machine broke: ${String(walker.broken())}`;
  for (const [index, step] of path.steps.entries()) {
    const where = `step ${index + 1}, ${step.label} in ${stateId(before.value)}`;
    try {
      await walker.take(step, index);
    } catch (error) {
      return `${where}: ${String(error)}`;
    }
    const snapshot = await rest();
    if (walker.broken() !== null) return `${where}: the machine broke: ${String(walker.broken())}`;
    const state = stateId(snapshot.value);
    if (state !== step.next) return `${where}: expected ${step.next}; found ${state}`;
    const identity = identityOf(suite, path.input.input, snapshot);
    if (step.identity !== undefined && identity !== step.identity) {
      return `${where}: expected ${step.identity}; found ${identity}`;
    }
    const effect = effectOf(suite, before, snapshot);
    if (step.effect !== undefined && !sameEffect(step.effect, effect)) {
      return `${where}: expected the effect (${step.effect}); found (${effect})`;
    }
    before = snapshot;
  }
  return before.status === 'done' ? null : `the path ends in ${stateId(before.value)}, which is not final`;
}
