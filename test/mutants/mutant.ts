/** What can find a mutant. `check`: the check of names; `table`: the frozen edge table. */
export const KILLERS = ['check', 'exploration', 'table', 'execution', 'invariants'] as const;
export type Killer = (typeof KILLERS)[number];

/** What became of a mutant. */
export interface Verdict {
  /** The first that found it; null: it survived. */
  killedBy: Killer | null;
  /** What was found, one line; empty for a survivor. */
  why: string;
  /** Specification numbers by which the invariants find it by themselves; null: they could not be asked. */
  invariants: readonly string[] | null;
}

/** One faulty variant of the product. */
export interface Mutant {
  /** Unique, and the same on every making: `<group>: <place>: <change>`. */
  name: string;
  /** What was changed: a machine, or a file of actors. */
  group: string;
  kind: string;
  /** Lets everything have a look at it. Never rejects for a fault of the mutant. */
  judge(): Promise<Verdict>;
}

/** Makes all mutants of one family, in the same order every time. */
export type Family = () => readonly Mutant[] | Promise<readonly Mutant[]>;

/** A verdict as it is reported. */
export interface Judged extends Verdict, Pick<Mutant, 'name' | 'group' | 'kind'> {}

export const judged = async ({ name, group, kind, judge }: Mutant): Promise<Judged> => ({
  name,
  group,
  kind,
  ...(await judge()),
});
