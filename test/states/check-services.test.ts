import { describe, expect, it } from 'vitest';
import { createServices, type ServicesOptions } from '../../src/services.ts';

const WHOLE = { cwd: '/somewhere', sessionFile: '/somewhere/chat.jsonl', env: {} };

describe('createServices', () => {
  it.each<[string, Record<string, unknown> | undefined, string]>([
    ['nothing', undefined, 'cwd is missing: give it the absolute path of the working folder of the turn'],
    ['no option', {}, 'cwd is missing: give it the absolute path of the working folder of the turn'],
    [
      'a relative cwd',
      { ...WHOLE, cwd: '.' },
      'cwd is wrong: give it the absolute path of the working folder of the turn',
    ],
    [
      'a cwd that is no text',
      { ...WHOLE, cwd: 5 },
      'cwd is wrong: give it the absolute path of the working folder of the turn',
    ],
    [
      'no session file',
      { ...WHOLE, sessionFile: undefined },
      'sessionFile is missing: give it the absolute path of the session file, which need not exist',
    ],
    [
      'an empty session file',
      { ...WHOLE, sessionFile: '' },
      'sessionFile is wrong: give it the absolute path of the session file, which need not exist',
    ],
    ['no environment', { ...WHOLE, env: undefined }, 'env is missing: give it an environment, process.env say'],
  ])('refuses %s and names the option', async (_, options, message) => {
    await expect(createServices(options as unknown as ServicesOptions)).rejects.toMatchObject({
      name: 'AttemptError',
      code: 'usage',
      message: `createServices: ${message}`,
    });
  });

  it('takes whole options and starts nothing', async () => {
    const opened = await createServices(WHOLE);
    expect(opened.params).toEqual({ realm: 'live', provider: 'openai' });
    await opened.close();
  });
});
