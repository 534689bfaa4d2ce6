import { stripVTControlCharacters } from 'node:util';

/** How much of stderr is kept, in bytes. */
export const STDERR_TAIL_BYTES = 4096;

/**
 * The end of what a process wrote to stderr. Keeps a fixed number of bytes however much comes. Text is given out only
 * whole lines at a time and redacted, so that no secret escapes the redactor by being cut.
 */
export class StderrTail {
  readonly #redact: (text: string) => string;
  #bytes: Buffer = Buffer.alloc(0);
  #cut = false;

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk.subarray(-STDERR_TAIL_BYTES)]);
    this.#cut ||= this.#bytes.length + chunk.length > STDERR_TAIL_BYTES;
    // A copy: a view would keep the whole chunk alive.
    this.#bytes = Buffer.from(all.subarray(-STDERR_TAIL_BYTES));
  }

  /** The last `count` lines without control characters; empty when there are none. */
  lines(count: number): string {
    const text = this.#bytes.toString('utf8');
    const whole = this.#cut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
    const clean = stripVTControlCharacters(this.#redact(whole));
    return clean
      .split('\n')
      .map((line) => line.replace(/\p{Cc}+/gu, ' ').trim())
      .filter((line) => line !== '')
      .slice(-count)
      .join('\n');
  }
}
