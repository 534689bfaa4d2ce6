import { describe, expect, it } from 'vitest';
import { AttemptError, messageOf } from '../../src/errors.ts';

describe('messageOf', () => {
  const getter = {
    get message(): string {
      throw new Error('no');
    },
  };
  it.each<[string, unknown, string]>([
    ['an error', new Error('what went wrong'), 'what went wrong'],
    ['one of ours', new AttemptError('internal', 'ours'), 'ours'],
    ['a text', 'just text', 'just text'],
    ['an object with a message', { message: 'said' }, 'said'],
    ['nothing', undefined, 'undefined'],
    ['an object without a prototype', Object.create(null), 'a thrown object that cannot be shown'],
    [
      'an object whose text throws',
      { toString: () => Symbol.iterator.toString.call(1) },
      'a thrown object that cannot be shown',
    ],
    ['an object whose message throws', getter, 'a thrown object that cannot be shown'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
  ])('has a sentence for %s', (_name, thrown, sentence) => {
    expect(messageOf(thrown)).toBe(sentence);
  });
});
