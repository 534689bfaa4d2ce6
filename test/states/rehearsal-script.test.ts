import { describe, expect, it } from 'vitest';
import { AttemptError } from '../../src/errors.ts';
import { parseRehearsalScript } from '../../src/rehearsal/index.ts';

function faultOf(script: unknown): string {
  try {
    parseRehearsalScript(typeof script === 'string' ? script : JSON.stringify(script), 'plan.json');
  } catch (error) {
    if (error instanceof AttemptError && error.code === 'usage') return error.message;
    throw error;
  }
  return 'no fault';
}

describe('parseRehearsalScript', () => {
  it('reads every field as it stands', () => {
    const script = {
      steps: [
        {
          when: { lastUserIncludes: 'hello' },
          reasoning: 'r',
          commentary: 'c',
          text: '',
          toolCalls: [
            { name: 'lookup', namespace: 'eng', arguments: { q: [1] } },
            { name: 'raw', arguments: '{' },
            { name: 'x' },
          ],
          shell: [{ command: 'ls' }],
          usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningOutputTokens: 3 },
          deltas: 2,
          delayMs: 0,
        },
        { error: { status: 429, code: 'usage_limit_reached', message: 'm' } },
        { text: 'a', error: { responseFailed: 'server_error' } },
        { stall: 'headers' },
        { text: 'a', drop: true },
        {},
      ],
      atEnd: 'repeat-last',
      compaction: { text: 'short' },
    };
    expect(parseRehearsalScript(JSON.stringify(script), 'plan.json')).toEqual(script);
    expect(parseRehearsalScript('{"steps":[]}', 'plan.json')).toEqual({ steps: [] });
  });

  it.each<[unknown, string]>([
    ['{"steps":', 'plan.json is not JSON: '],
    [[], 'plan.json: the script must be an object'],
    [{}, 'plan.json: steps must be a list'],
    [{ steps: [], stpes: 1 }, 'plan.json: stpes is not known here (known: steps, atEnd, compaction)'],
    [{ steps: [], atEnd: 'stop' }, 'plan.json: atEnd must be "default" or "repeat-last" or "fail"'],
    [{ steps: ['hi'] }, 'plan.json: steps[0] must be an object'],
    [{ steps: [{}, { txt: 'a' }] }, 'plan.json: steps[1].txt is not known here'],
    [{ steps: [{ text: 1 }] }, 'plan.json: steps[0].text must be a string'],
    [{ steps: [{ text: null }] }, 'plan.json: steps[0].text must be a string'],
    [{ steps: [{ when: {} }] }, 'plan.json: steps[0].when.lastUserIncludes must be a string'],
    [{ steps: [{ toolCalls: {} }] }, 'plan.json: steps[0].toolCalls must be a list'],
    [{ steps: [{ toolCalls: [{ name: 'a' }, {}] }] }, 'plan.json: steps[0].toolCalls[1].name must be a string'],
    [{ steps: [{ toolCalls: [{ name: '' }] }] }, 'plan.json: steps[0].toolCalls[0].name must not be empty'],
    [
      { steps: [{ toolCalls: [{ name: 'a', arguments: 1 }] }] },
      'plan.json: steps[0].toolCalls[0].arguments must be an object',
    ],
    [{ steps: [{ shell: ['ls'] }] }, 'plan.json: steps[0].shell[0] must be an object'],
    [
      { steps: [{ usage: { inputTokens: -1 } }] },
      'plan.json: steps[0].usage.inputTokens must be a whole number from 0 to ',
    ],
    [{ steps: [{ error: {} }] }, 'plan.json: steps[0].error.status must be a whole number from 400 to 599'],
    [
      { steps: [{ error: { responseFailed: 'a', status: 400 } }] },
      'plan.json: steps[0].error.status is not known here',
    ],
    [{ steps: [{ stall: 'late' }] }, 'plan.json: steps[0].stall must be "headers" or "first" or "mid"'],
    [{ steps: [{ drop: 'yes' }] }, 'plan.json: steps[0].drop must be true or false'],
    [{ steps: [{ deltas: 0 }] }, 'plan.json: steps[0].deltas must be a whole number from 1 to '],
    [{ steps: [{ delayMs: 1.5 }] }, 'plan.json: steps[0].delayMs must be a whole number from 0 to 600000'],
    [{ steps: [{ drop: true, stall: 'mid' }] }, 'plan.json: steps[0] may have only one of "error", "stall" and "drop"'],
    [{ steps: [], compaction: { text: 2 } }, 'plan.json: compaction.text must be a string'],
  ])('names the place of the fault in %j', (script, message) => {
    expect(faultOf(script)).toContain(message);
  });
});
