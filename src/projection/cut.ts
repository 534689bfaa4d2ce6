/**
 * Cutting text to a size: always from its old side (the beginning), always with a mark that says how much is gone,
 * never through a surrogate pair and never over the size asked for (spec P4).
 */

/** A way to measure text. `tail` gives the longest end of a well-formed text that is not over `max`. */
export interface TextMeasure {
  size(text: string): number;
  tail(text: string, max: number): string;
}

/** Characters as JavaScript counts them (UTF-16 units): the caps of the projection. */
export const CHARS: TextMeasure = {
  size: (text) => text.length,
  tail(text, max) {
    const start = Math.max(0, text.length - Math.max(0, max));
    return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
  },
};

/** Unicode code points: what the app-server counts against its limit (measured, method `turn/start`). */
export const CODE_POINTS: TextMeasure = {
  size(text) {
    let count = text.length;
    for (let i = 0; i < text.length; i += 1) if (isLowSurrogate(text.charCodeAt(i))) count -= 1;
    return count;
  },
  tail(text, max) {
    let start = text.length;
    for (let count = 0; count < max && start > 0; count += 1) {
      start -= isLowSurrogate(text.charCodeAt(start - 1)) ? 2 : 1;
    }
    return text.slice(Math.max(0, start));
  },
};

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Replaces each half of a broken surrogate pair by U+FFFD: JSON on the wire cannot carry it. The length stays. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\uFFFD');
}

/** A text after a cut, and how many characters (UTF-16 units) of the original are gone. */
export interface CutText {
  text: string;
  omittedChars: number;
}

/**
 * The newest part of a well-formed text within `max`. What is kept stands on the line of the mark, so no cut can turn
 * the middle of a line into the beginning of one. Empty when there is no room beside the mark.
 */
export function keepNewest(text: string, max: number, measure: TextMeasure): CutText {
  if (measure.size(text) <= max) return { text, omittedChars: 0 };
  const room = max - omission(text.length).length;
  if (room <= 0) return { text: '', omittedChars: text.length };
  const kept = measure.tail(text, room);
  const omittedChars = text.length - kept.length;
  return { text: omission(omittedChars) + kept, omittedChars };
}

function omission(chars: number): string {
  return `[${chars} characters omitted] `;
}

/** One rendered message: `head` is the role line with its line end, never cut apart from its `body`. */
export interface ContextBlock {
  head: string;
  body: string;
}

/** Blocks after a cut, oldest first. `omittedChars` holds what had been left out before. */
export interface CutBlocks {
  blocks: readonly ContextBlock[];
  omittedChars: number;
  droppedBlocks: number;
}

/** Between two messages, and around what hooks add. */
export const BLANK_LINE = '\n\n';

/** Starts the body of a message whose beginning was cut away; the number is in the mark at the top of the context. */
const BODY_CUT = '… ';

/** The mark at the top of a context that lost something. */
export function contextOmission(chars: number): string {
  return `[${chars} characters omitted from older context]`;
}

/** The text of a context: the mark if something is missing, then the messages, one blank line between. */
export function joinBlocks({ blocks, omittedChars }: CutBlocks): string {
  const texts = blocks.map((block) => block.head + block.body);
  if (omittedChars > 0) texts.unshift(contextOmission(omittedChars));
  return texts.join(BLANK_LINE);
}

/**
 * The newest blocks whose joined text is within `max`; the oldest that is kept may lose the beginning of its body.
 * Linear in the text. No room for anything: no blocks.
 */
export function keepNewestBlocks(
  blocks: readonly ContextBlock[],
  max: number,
  measure: TextMeasure,
  omittedBefore = 0,
): CutBlocks {
  const sizes = blocks.map((block) => measure.size(block.head) + measure.size(block.body));
  const whole = sizes.reduce((sum, size) => sum + size + BLANK_LINE.length, 0);
  const markSize = (chars: number): number => (chars > 0 ? contextOmission(chars).length + BLANK_LINE.length : 0);
  if (whole - BLANK_LINE.length + markSize(omittedBefore) <= max) {
    return { blocks, omittedChars: omittedBefore, droppedBlocks: 0 };
  }

  const chars = blocks.reduce((sum, block) => sum + block.head.length + block.body.length, 0);
  // The mark for everything is the longest that can be needed, so the result is never over `max`.
  let room = max - markSize(omittedBefore + chars) + BLANK_LINE.length;
  let keptChars = 0;
  const kept: ContextBlock[] = [];
  for (let i = blocks.length - 1; i >= 0; i -= 1) {
    const block = blocks[i];
    if (block === undefined) break;
    const size = (sizes[i] ?? 0) + BLANK_LINE.length;
    if (size <= room) {
      kept.push(block);
      keptChars += block.head.length + block.body.length;
      room -= size;
      continue;
    }
    const tail = measure.tail(block.body, room - BLANK_LINE.length - block.head.length - BODY_CUT.length);
    if (tail !== '') {
      kept.push({ head: block.head, body: BODY_CUT + tail });
      keptChars += block.head.length + tail.length;
    }
    break;
  }
  return {
    blocks: kept.reverse(),
    omittedChars: omittedBefore + chars - keptChars,
    droppedBlocks: blocks.length - kept.length,
  };
}
