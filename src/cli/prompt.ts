import { checkPrompt } from '../attempt/check-attempt.ts';
import { AttemptError } from '../errors.ts';
import { usageError } from './flags.ts';
import type { CliIo } from './io.ts';

/**
 * The prompt of `run`. A word on the command line wins and stdin is not read; `-`, or no word and something piped in,
 * reads stdin to its end. Rejects with AttemptError `usage` (also for what is not text: bytes that are not UTF-8, a NUL),
 * `prompt_empty`, `prompt_too_large`, `aborted`.
 */
export async function readPrompt(io: CliIo, words: readonly string[], signal: AbortSignal): Promise<string> {
  const [word, extra] = words;
  if (extra !== undefined) {
    throw usageError(`more than one prompt (${JSON.stringify(extra)} is the second): put the prompt in quotes`, 'run');
  }
  if (word === undefined && io.stdin.isTTY === true) {
    throw usageError('no prompt: give one in quotes, or `-` to read it from the terminal', 'run');
  }
  const prompt = word === undefined || word === '-' ? await readAll(io.stdin, signal) : word;
  checkPrompt(prompt);
  const nul = prompt.indexOf('\0');
  if (nul !== -1) {
    throw usageError(
      `the prompt has a NUL character (after ${nul} others): it is no text, and programs that read the session would cut it off there`,
      'run',
    );
  }
  return prompt;
}

async function readAll(stdin: CliIo['stdin'], signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  const stop = (): void => {
    stdin.destroy(new AttemptError('aborted', 'stopped while reading the prompt'));
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin) {
      pieces.push(typeof chunk === 'string' ? chunk : decoder.decode(chunk as Uint8Array, { stream: true }));
    }
    pieces.push(decoder.decode());
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw usageError('what comes on stdin is not UTF-8 text: convert it first (`iconv -t UTF-8`)', 'run');
    }
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return pieces.join('');
}
