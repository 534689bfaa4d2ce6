/** Walks through a script: which answer does this request get? */

import { httpError, type WireAnswer, wireAnswer } from './answer.ts';
import { defaultAnswer } from './default-answer.ts';
import { isCompactionRequest, lastUserText, type ModelRequestBody } from './request.ts';
import type { RehearsalScript, RehearsalStep, RehearsalStepSource } from './script.ts';

/** The step that was chosen, and its form on the wire. */
export interface PlayedAnswer {
  step: RehearsalStep;
  answer: WireAnswer;
}

/** Calls must come in the order of the requests. What a step function throws passes through. */
export function createPlayer(script: RehearsalScript): (body: ModelRequestBody) => PlayedAnswer {
  const left = [...script.steps];
  let last: RehearsalStepSource | undefined;
  let ordinal = 0;

  const scripted = (source: RehearsalStepSource, body: ModelRequestBody): PlayedAnswer => {
    ordinal += 1;
    const step = typeof source === 'function' ? source(body) : source;
    return { step, answer: wireAnswer(step, body, ordinal) };
  };

  return (body) => {
    if (isCompactionRequest(body)) {
      if (script.compaction !== undefined) return scripted(script.compaction, body);
    } else {
      const index = left.findIndex((source) => fits(source, body));
      const source = left[index];
      if (source !== undefined) {
        left.splice(index, 1);
        last = source;
        return scripted(source, body);
      }
      if (script.atEnd === 'repeat-last' && last !== undefined) return scripted(last, body);
      if (script.atEnd === 'fail') {
        const message = 'The rehearsal script has no step for this request';
        return { step: {}, answer: httpError(400, 'rehearsal_script_ended', message) };
      }
    }
    const step = defaultAnswer(body);
    return { step, answer: wireAnswer(step, body, null) };
  };
}

function fits(source: RehearsalStepSource, body: ModelRequestBody): boolean {
  if (typeof source === 'function' || source.when === undefined) return true;
  return lastUserText(body).includes(source.when.lastUserIncludes);
}
