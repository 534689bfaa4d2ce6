import type { AnyActorLogic } from 'xstate';
import type { PathStep } from '../paths/suite.ts';

/** What stands for a child machine: the real one, or, where that cannot end as the path says, one that is told how. */
export type Stand = { forced: true } | { forced: false; logic: AnyActorLogic };

/** Plays the ports of a child machine, so that it comes to what the path says. */
export interface ChildPlay {
  /** The child is invoked by the step of this index. */
  begin(index: number, input: unknown): Stand;
  /** Brings about the step that ends the child. */
  end(step: PathStep): void;
  /** The next step asks it to stop: what must be under way then is set off. */
  prepareStop(): void | Promise<void>;
}
