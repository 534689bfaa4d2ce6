/** One line of a source, or two, written wrongly. */
export interface ActorEdit {
  kind: 'await dropped' | 'order swapped';
  /** What, in words: `await tellEnd(record, signal) dropped`. */
  change: string;
  /** The whole source with it. */
  source: string;
}

/** A line that can be changed by itself: it begins where a statement may begin, and its brackets close. */
interface Line {
  at: number;
  indent: string;
  text: string;
}

/** What is written of the way, and nobody acts upon it. */
const TELLING = /^(?:[\w.#]+\.)?(?:logger|trace)\./;
const AWAIT = /^await .+;$/;
const CALL = /^[\w.#?]+\(.*\);$/;
const SLOT = /^(?:delete [\w.#]*slots\.\w+|[\w.#]*slots\.\w+ (?:\?\?)?= .+);$/;
const FIELD = /^this\.#?\w+ = .+;$/;
const CONSTANT = /^const (?:(\w+)|\{ (.+) \}|\[(.+)\]) = await .+;$/;
const AWAIT_IF = /^if \(.+\) await .+;$/;

function closes(text: string): boolean {
  let open = 0;
  for (const character of text) {
    if ('([{'.includes(character)) open += 1;
    if (')]}'.includes(character)) open -= 1;
    if (open < 0) return false;
  }
  return open === 0;
}

/** Every line of a source at which a statement begins, comments left out. */
function statementLines(source: string): Line[] {
  const found: Line[] = [];
  let before = '{';
  for (const [at, line] of source.split('\n').entries()) {
    const text = line.trim();
    if (text === '' || /^(?:\/\/|\/?\*)/.test(text)) continue;
    if (/[;{}:]$/.test(before)) found.push({ at, indent: line.slice(0, line.length - line.trimStart().length), text });
    before = text;
  }
  return found;
}

/** A statement that needs nothing around it. */
const isPlain = ({ text }: Line): boolean =>
  closes(text) && !TELLING.test(text) && [AWAIT, CALL, SLOT, FIELD].some((form) => form.test(text));

/** Names that a statement makes. */
function made({ text }: Line): string[] {
  const [, one, members, items] = CONSTANT.exec(text) ?? [];
  return (one ?? members ?? items ?? '').split(/\W+/).filter((name) => name !== '');
}

/** Two statements that follow each other, of which one waits for something and the second does not need the first. */
function canSwap(first: Line, second: Line): boolean {
  const both = [first, second];
  const waits = ({ text }: Line) => closes(text) && [AWAIT, CONSTANT, AWAIT_IF].some((form) => form.test(text));
  return (
    first.indent === second.indent &&
    both.every((line) => isPlain(line) || waits(line)) &&
    both.some(waits) &&
    !made(first).some((name) => new RegExp(`\\b${name}\\b`).test(second.text))
  );
}

const said = (text: string): string => text.replace(/;$/, '');

/** What can be wrong in the order of a source's work: one fault each, in the order of the lines. */
export function actorEdits(source: string): ActorEdit[] {
  const lines = source.split('\n');
  const edits: ActorEdit[] = [];
  const counts = new Map<string, number>();
  const add = (kind: ActorEdit['kind'], change: string, places: readonly Line[], texts: readonly string[]): void => {
    const seen = (counts.get(change) ?? 0) + 1;
    counts.set(change, seen);
    const edited = [...lines];
    for (const [index, { at, indent }] of places.entries()) edited[at] = `${indent}${texts[index] ?? ''}`;
    edits.push({ kind, change: seen === 1 ? change : `${change} (#${seen})`, source: edited.join('\n') });
  };
  const found = statementLines(source);
  for (const [index, line] of found.entries()) {
    const { text } = line;
    if (AWAIT.test(text) && isPlain(line)) add('await dropped', `${said(text)} dropped`, [line], ['']);
    const next = found[index + 1];
    if (next !== undefined && canSwap(line, next)) {
      add('order swapped', `${said(next.text)} before ${said(text)}`, [line, next], [next.text, text]);
    }
  }
  return edits;
}
