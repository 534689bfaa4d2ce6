/**
 * What the offline model says without a script: one final message, a function of the request's text alone, so that
 * equal requests get equal answers. It calls no tool, reasons nothing and claims no cached token.
 */

import { currentRequest, isCompactionRequest, type ModelRequestBody, userTexts } from './request.ts';
import type { RehearsalStep } from './script.ts';

/** How much of a request an answer quotes, in code points. */
export const QUOTE_LENGTH = 80;

/** The answer to a turn, or the summary for a compaction. */
export function defaultAnswer(body: ModelRequestBody): RehearsalStep {
  if (isCompactionRequest(body)) {
    const before = userTexts(body).slice(0, -1).at(-1) ?? '';
    return { text: `Rehearsal summary of the conversation up to: ${quote(before)}. No model was asked.` };
  }
  return { text: `Rehearsal answer to: ${quote(currentRequest(body))}. No model was asked.` };
}

/** One line in quotation marks, cut between code points. */
function quote(text: string): string {
  const points = Array.from(text.replace(/\s+/g, ' ').trim());
  return points.length > QUOTE_LENGTH ? `"${points.slice(0, QUOTE_LENGTH).join('')}…"` : `"${points.join('')}"`;
}
