import { stripVTControlCharacters } from 'node:util';

/** How much of stderr is looked at, in bytes. Room for a panic in front of its whole backtrace. */
export const STDERR_TAIL_BYTES = 65_536;

/** The most that is quoted: lines, and UTF-16 units together. */
export const STDERR_QUOTE = { lines: 5, chars: 300 } as const;

/** `panics`: nothing but what a panic said. Default: whatever tells most. */
export type StderrWanted = 'any' | 'panics';

/** What Codex writes at every start on many machines, however well it is. */
const NOTICES = /could not find bubblewrap|proceeding, even though/;
/** The rest of a backtrace: its frames of Rust and of JavaScript, its title and its advice. */
const BACKTRACE = /^(\d+: |at |stack backtrace:|note: (run with|some details are omitted))/i;
const PANIC = /panicked at/;
const FAILURE = /Error|error:|\bERROR\b/;

/**
 * What a process said last on stderr. Keeps a bounded number of bytes however much comes. Text is given out only whole
 * lines at a time and redacted, so that no secret escapes the redactor by being cut.
 */
export class StderrTail {
  readonly #redact: (text: string) => string;
  #chunks: Buffer[] = [];
  #size = 0;
  #cut = false;

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    // A copy: a view would keep the whole chunk alive.
    this.#chunks.push(Buffer.from(chunk.subarray(-STDERR_TAIL_BYTES)));
    this.#size += chunk.length;
    this.#cut ||= this.#size > STDERR_TAIL_BYTES;
    // Joined only now and then: many small writes must not copy the whole each time.
    if (this.#size > 2 * STDERR_TAIL_BYTES) this.#join();
  }

  /** Drops what came so far: it says nothing about what happens from now on. */
  forget(): void {
    this.#chunks = [];
    this.#size = 0;
    this.#cut = false;
  }

  /**
   * The lines that tell most about an end, in their order and without control characters: what the last panic said,
   * else the last errors, else the last lines. At most `STDERR_QUOTE`; empty when there are none.
   */
  quote(wanted: StderrWanted = 'any'): string {
    const lines = this.#lines();
    const panic = lines.findLastIndex((line) => PANIC.test(line));
    // The message of a panic stands on the line after the place.
    if (panic >= 0) return bounded([lines.slice(panic, panic + 2).join('\n')]);
    if (wanted === 'panics') return '';
    const failures = lines.filter((line) => FAILURE.test(line));
    return bounded((failures.length > 0 ? failures : lines).slice(-STDERR_QUOTE.lines));
  }

  #lines(): string[] {
    const text = this.#join().toString('utf8');
    const whole = this.#cut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
    return stripVTControlCharacters(this.#redact(whole))
      .split('\n')
      .map((line) => line.replace(/[\p{Cc}\ufffd]+/gu, ' ').trim())
      .filter((line) => line !== '' && !NOTICES.test(line) && !BACKTRACE.test(line));
  }

  #join(): Buffer {
    const all = Buffer.from(Buffer.concat(this.#chunks).subarray(-STDERR_TAIL_BYTES));
    this.#chunks = [all];
    this.#size = all.length;
    return all;
  }
}

/** As many of the last texts as there is room for; one that alone is too long is cut at its end. */
function bounded(texts: readonly string[]): string {
  const taken: string[] = [];
  let room: number = STDERR_QUOTE.chars;
  for (const text of texts.toReversed()) {
    if (text.length > room) break;
    taken.unshift(text);
    room -= text.length + 1;
  }
  const last = texts.at(-1);
  if (taken.length > 0 || last === undefined) return taken.join('\n');
  return `${last.slice(0, STDERR_QUOTE.chars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
