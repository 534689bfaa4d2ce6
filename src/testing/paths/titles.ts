import { type AnyMachineSnapshot, initialTransition } from 'xstate';
import { effectOf, type Path, pathTitle } from './generate.ts';
import { type MachineSuite, type PathStep, stateId, type Words } from './suite.ts';

/** A part of a title. */
interface Phrase {
  text: string;
  /** `aside`: said only where titles would be equal without it; `outcome`: how the path ends. */
  kind: 'said' | 'aside' | 'outcome';
  /** It is about how the path begins; such asides stand together. */
  first?: true;
}

const ARROW = ' → ';

/** What a path came to: the outcome that the machine reports, or the final state of one that reports none. */
export function outcomeOf({ suite, input, steps }: Path): string {
  const last = steps.at(-1);
  if (last !== undefined) return reported(last.effect ?? '') ?? last.next;
  const [snapshot] = initialTransition(suite.machine, input.input) as [AnyMachineSnapshot, unknown];
  return reported(effectOf(suite, snapshot, snapshot)) ?? stateId(snapshot.value);
}

/** `output failed turn_refused` of an effect is `failed`. */
const reported = (effect: string): string | undefined => /(?:^|, )output (\S+)/.exec(effect)?.[1];

/**
 * Titles that tell the paths of a machine apart, in the order of the paths: what is remarkable about each, and its
 * outcome (`resumed thread is stale → fresh thread → completed → maintained`). Where that is the same for some of them,
 * what they differ in is said too, down to their steps. A title depends on the paths that it has to differ from.
 */
export function pathTitles(paths: readonly Path[]): string[] {
  const all = paths.map(phrasesOf);
  const titles = all.map((phrases) =>
    render(phrases, phrases.every(({ kind }) => kind !== 'said') ? isFirst : nothing),
  );
  for (const group of equals(titles)) {
    const shared = sharedTexts(group.map((at) => all[at] ?? []));
    for (const at of group) titles[at] = render(all[at] ?? [], ({ text }) => !shared.has(text));
  }
  for (const group of equals(titles)) for (const at of group) titles[at] = render(all[at] ?? [], () => true);
  for (const group of equals(titles)) {
    for (const at of group) {
      const path = paths[at];
      if (path !== undefined) titles[at] = pathTitle(path);
    }
  }
  return titles;
}

const nothing = (): boolean => false;
const isFirst = ({ first }: Phrase): boolean => first === true;

/** The indices of titles that occur more than once, one list for each such title. */
function equals(titles: readonly string[]): number[][] {
  const places = new Map<string, number[]>();
  titles.forEach((title, at) => {
    const same = places.get(title);
    if (same === undefined) places.set(title, [at]);
    else same.push(at);
  });
  return [...places.values()].filter(({ length }) => length > 1);
}

/** The texts that every one of them has. */
function sharedTexts(some: readonly (readonly Phrase[])[]): Set<string> {
  const [first = [], ...others] = some.map((phrases) => phrases.map(({ text }) => text));
  return new Set(first.filter((text) => others.every((texts) => texts.includes(text))));
}

/** The title in which only these asides are said. */
function render(phrases: readonly Phrase[], isSaid: (aside: Phrase) => boolean): string {
  const said = phrases.filter((phrase) => phrase.kind !== 'aside' || isSaid(phrase));
  return said
    .map(({ text, kind, first }, at) => {
      const next = said[at + 1];
      if (next === undefined) return text;
      return text + (kind === 'aside' && next.kind === 'aside' && first && next.first ? ', ' : ARROW);
    })
    .join('');
}

/** All that can be said of a path, in order. */
function phrasesOf(path: Path): Phrase[] {
  const { suite, input, steps } = path;
  const words = suite.words ?? labelsOf(suite);
  const outcome = outcomeOf(path);
  const before = new Set<string>();
  const phrases: Phrase[] = input.says === undefined ? [] : [{ text: input.says, kind: 'said' }];
  const tell = (text: string | undefined, kind: Phrase['kind'], first = false) => {
    if (text !== undefined) phrases.push({ text, kind, ...(first ? { first } : {}) });
  };
  let isTold = false;
  const tellOutcome = () => {
    if (!isTold) tell(words.outcomes?.[outcome] ?? outcome, 'outcome');
    isTold = true;
  };
  steps.forEach((step, at) => {
    if (words.coda?.some((state) => isWithin(step.state, state)) === true) tellOutcome();
    const { says, aside } = wordsFor(words, step, before);
    tell(aside, 'aside', at === 0);
    if (at === 0) tell(input.aside, 'aside', true);
    tell(says, 'said');
    before.add(step.label);
  });
  tellOutcome();
  return phrases;
}

/** The words of a suite that has none: every step is told by its label. */
function labelsOf({ outside, answers, delays }: MachineSuite): Words {
  const cases = [...outside, ...Object.values(answers).flatMap(({ done, error }) => [...done, ...error])];
  const labels = [...cases.map(({ label }) => label), ...Object.keys(delays).map((delay) => `after ${delay}`)];
  return { says: Object.fromEntries(labels.map((label) => [label, label])), asides: {} };
}

const isWithin = (state: string, outer: string): boolean => state === outer || state.startsWith(`${outer}.`);

/** The words for a step, after these event cases. Without both it is the normal next step. */
export function wordsFor(
  words: Words,
  { label, state }: Pick<PathStep, 'label' | 'state'>,
  before: ReadonlySet<string> = new Set(),
): { says: string | undefined; aside: string | undefined } {
  const parts = state.split('.');
  const places = [...parts.map((_, at) => ` in ${parts.slice(0, parts.length - at).join('.')}`), ''];
  const keys = [
    ...[...before].map((other) => `${label} after ${other}`),
    ...(before.has(label) ? places.map((place) => `${label} again${place}`) : []),
    ...places.map((place) => label + place),
  ];
  const lookUp = (table: Readonly<Record<string, string>>): string | undefined => {
    const key = keys.find((one) => Object.hasOwn(table, one));
    return key === undefined ? undefined : table[key];
  };
  return { says: lookUp(words.says), aside: lookUp(words.asides) };
}
