import { type Judged, KILLERS, type Killer, type Mutant } from './mutant.ts';

/** How many mutants there are of one kind, and what became of them. */
export interface ReportRow extends Readonly<Record<Killer, number>> {
  group: string;
  kind: string;
  made: number;
  /** Survived, as the list says. */
  equivalent: number;
  survived: number;
  /** The invariants find them without the others. */
  alone: number;
}

export interface Report {
  rows: readonly ReportRow[];
  /** Names of mutants that nothing finds and that are not listed. */
  survivors: readonly string[];
  /** What is wrong with the list of equivalent mutants, one sentence each. */
  stale: readonly string[];
}

type Equivalent = Readonly<Record<string, string>>;

function rowOf(group: string, kind: string, mutants: readonly Judged[], equivalent: Equivalent): ReportRow {
  const count = (is: (mutant: Judged) => boolean) => mutants.filter(is).length;
  const by = (killer: Killer) => count(({ killedBy }) => killedBy === killer);
  return {
    group,
    kind,
    made: mutants.length,
    check: by('check'),
    exploration: by('exploration'),
    table: by('table'),
    execution: by('execution'),
    invariants: by('invariants'),
    equivalent: count(({ name, killedBy }) => killedBy === null && Object.hasOwn(equivalent, name)),
    survived: count(({ name, killedBy }) => killedBy === null && !Object.hasOwn(equivalent, name)),
    alone: count(({ invariants }) => invariants !== null && invariants.length > 0),
  };
}

/** Sums up verdicts. `all`: every mutant there is, also those that were not judged this time. */
export function reportOf(
  judged: readonly Judged[],
  all: readonly Pick<Mutant, 'name'>[],
  equivalent: Equivalent,
): Report {
  const names = new Set(all.map(({ name }) => name));
  const groups = [...new Set(judged.map(({ group }) => group))];
  const rows = groups.flatMap((group) => {
    const ofGroup = judged.filter((mutant) => mutant.group === group);
    const kinds = [...new Set(ofGroup.map(({ kind }) => kind))];
    return [
      ...kinds.map((kind) =>
        rowOf(
          group,
          kind,
          ofGroup.filter((mutant) => mutant.kind === kind),
          equivalent,
        ),
      ),
      rowOf(group, 'all', ofGroup, equivalent),
    ];
  });
  return {
    rows: [...rows, rowOf('all', 'all', judged, equivalent)],
    survivors: judged
      .filter(({ name, killedBy }) => killedBy === null && !Object.hasOwn(equivalent, name))
      .map(({ name }) => name),
    stale: [
      ...Object.keys(equivalent)
        .filter((name) => !names.has(name))
        .map((name) => `listed as equivalent, but there is no such mutant: ${name}`),
      ...judged
        .filter(({ name, killedBy }) => killedBy !== null && Object.hasOwn(equivalent, name))
        .map(({ name, killedBy, why }) => `listed as equivalent, but found (${killedBy}, ${why}): ${name}`),
    ],
  };
}

const COLUMNS = ['group', 'kind', 'made', ...KILLERS, 'equivalent', 'survived', 'alone'] as const;
const LEFT = new Set<string>(['group', 'kind']);
const HEADS: Readonly<Record<string, string>> = { group: 'what', alone: 'invariants alone' };

/** The report as people read it: the table, then what is wrong, one line each. */
export function reportText({ rows, survivors, stale }: Report): string {
  const cells = [
    COLUMNS.map((column) => HEADS[column] ?? column),
    ...rows.map((row) => COLUMNS.map((column) => String(row[column]))),
  ];
  const widths = COLUMNS.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((cell, at) => (LEFT.has(COLUMNS[at] ?? '') ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
  // A line under the head, and one before each sum.
  const rule = '-'.repeat(lines[0]?.length ?? 0);
  const table = lines.flatMap((line, at) => {
    if (at === 0) return [line, rule];
    return rows[at - 1]?.kind === 'all' ? [line, ...(at === lines.length - 1 ? [] : [rule])] : [line];
  });
  return [...table, ...survivors.map((name) => `survived: ${name}`), ...stale, ''].join('\n');
}
