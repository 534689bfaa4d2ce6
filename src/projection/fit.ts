import { AttemptError } from '../errors.ts';
import { BLANK_LINE, CODE_POINTS, type CutText, joinBlocks, keepNewest, keepNewestBlocks, wellFormed } from './cut.ts';
import type { PromptRanges } from './text.ts';

/**
 * Most code points that the app-server takes over all text inputs of one turn (`turn/start`: `input_too_large`,
 * `max_chars`). Measured: it counts code points, not UTF-16 units and not bytes.
 */
export const TURN_INPUT_LIMIT = 1_048_576;

export interface FitOptions {
  /** The projected prompt: `promptText` and `ranges` of a projection. */
  text: string;
  ranges: PromptRanges;
  /** What hooks put before and after it (`prependContext`, `appendContext`), one blank line between. Empty: nothing. */
  hookPrefix?: string | undefined;
  hookSuffix?: string | undefined;
  /** Code points; default `TURN_INPUT_LIMIT`. */
  limit?: number | undefined;
}

export interface FittedInput {
  /** The one text input of the turn: at most `limit` code points, every character whole. */
  text: string;
  codePoints: number;
  /** Characters (UTF-16 units) that had to go, by where they came from. */
  clipped: { contextChars: number; hookChars: number };
}

/**
 * Makes the turn's input fit. Room is given in this order: the current request whole, the hooks' suffix, the hooks'
 * prefix, the newest context; what is cut is cut from its old side with a mark. A context of which nothing fits goes
 * with its wrapper. Everything by offsets: tags inside a text mean nothing here.
 *
 * Throws AttemptError `prompt_too_large` with `{ limit, actual }` when the request alone is over the limit: a user's own
 * words are refused, never shortened. Text made by hooks is always cut instead (BL-15).
 */
export function fitTurnInput({
  text,
  ranges,
  hookPrefix = '',
  hookSuffix = '',
  limit = TURN_INPUT_LIMIT,
}: FitOptions): FittedInput {
  // Replacing broken halves keeps every offset.
  const whole = wellFormed(text);
  const request = whole.slice(ranges.request.start, ranges.request.end);
  const requestSize = CODE_POINTS.size(request);
  if (requestSize > limit) {
    throw new AttemptError(
      'prompt_too_large',
      `The prompt has ${requestSize} characters; Codex takes at most ${limit} in one turn. Shorten it or put the material into a file.`,
      { data: { limit, actual: requestSize } },
    );
  }

  let room = limit - requestSize;
  const take = (hookText: string): CutText => {
    const cut = keepNewest(wellFormed(hookText), room - BLANK_LINE.length, CODE_POINTS);
    if (cut.text !== '') room -= CODE_POINTS.size(cut.text) + BLANK_LINE.length;
    return cut;
  };
  const suffix = take(hookSuffix);
  const prefix = take(hookPrefix);
  const body = fitContext(whole, ranges, room);
  const fitted = [prefix.text, body.text, suffix.text].filter((part) => part !== '').join(BLANK_LINE);
  return {
    text: fitted,
    codePoints: CODE_POINTS.size(fitted),
    clipped: { contextChars: body.omittedChars, hookChars: prefix.omittedChars + suffix.omittedChars },
  };
}

/** The projected prompt with as much context as `room` code points hold beside the request. */
function fitContext(text: string, { context, request }: PromptRanges, room: number): CutText {
  if (context === null) return { text, omittedChars: 0 };
  const before = text.slice(0, context.start);
  const after = text.slice(context.end, request.start);
  const blocks = context.messages.map(({ start, bodyStart, end }) => ({
    head: text.slice(start, bodyStart),
    body: text.slice(bodyStart, end),
  }));
  const max = room - CODE_POINTS.size(before) - CODE_POINTS.size(after);
  const cut = keepNewestBlocks(blocks, max, CODE_POINTS, context.omittedChars);
  const omittedChars = cut.omittedChars - context.omittedChars;
  if (cut.blocks.length === 0) return { text: text.slice(request.start), omittedChars };
  return { text: before + joinBlocks(cut) + after + text.slice(request.start), omittedChars };
}
