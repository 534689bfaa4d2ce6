import { messageOf } from '../errors.ts';

const NEWLINE = 0x0a;

/** A JSON object of one line. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A line that is not a JSON object. `line` holds at most its first `MALFORMED_EXCERPT` characters. */
export interface MalformedLine {
  line: string;
  reason: string;
  /** Length of the whole line in bytes. */
  bytes: number;
}

/** How much of a malformed line is reported, in characters. */
export const MALFORMED_EXCERPT = 200;

/**
 * Takes a byte stream apart into JSON objects, one a line. Only byte 0x0A ends a line: no byte of a multi-byte
 * character has that value, and U+2028 and its like are text. A line is joined once, when it is complete, so its cost
 * grows with its length and not with the number of chunks. Blank lines are skipped; a line that is not a JSON object
 * goes to `onMalformed` and is skipped.
 */
export class JsonLineDecoder {
  readonly #onObject: (object: JsonObject) => void;
  readonly #onMalformed: (line: MalformedLine) => void;
  #parts: Buffer[] = [];

  constructor(onObject: (object: JsonObject) => void, onMalformed: (line: MalformedLine) => void) {
    this.#onObject = onObject;
    this.#onMalformed = onMalformed;
  }

  /** Calls back for every line that `chunk` completes, in order, before it returns. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#parts.push(chunk.subarray(start, end));
      start = end + 1;
      this.#line();
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }

  /** The stream is over: a last line without its newline is taken as it is. */
  end(): void {
    this.#line();
  }

  #line(): void {
    const [first, ...rest] = this.#parts;
    this.#parts = [];
    if (first === undefined) return;
    const bytes = rest.length === 0 ? first : Buffer.concat([first, ...rest]);
    const parsed = parse(bytes);
    if (parsed === null) return;
    if ('object' in parsed) this.#onObject(parsed.object);
    else {
      const line = bytes.toString('utf8', 0, MALFORMED_EXCERPT * 4).slice(0, MALFORMED_EXCERPT);
      this.#onMalformed({ line, reason: parsed.reason, bytes: bytes.length });
    }
  }
}

/** Null for a blank line. Total: a line too long for a string is malformed too. */
function parse(bytes: Buffer): { object: JsonObject } | { reason: string } | null {
  try {
    // A carriage return before the newline is white space to JSON.
    const text = bytes.toString('utf8');
    if (text.trim() === '') return null;
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { object: value } : { reason: 'not a JSON object' };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

/** Whether a JSON value is an object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * One line for the wire, newline included. Half surrogate pairs become U+FFFD: the app-server drops a line that holds
 * one, without an answer. Throws TypeError for what JSON cannot say (a BigInt, a cycle).
 */
export function encodeJsonLine(message: JsonObject): string {
  const json = JSON.stringify(message);
  // JSON.stringify escapes exactly the lone halves as \ud8xx to \udfxx; `\\` before `ud800` is a backslash of the text.
  const whole = json.includes('\\ud')
    ? json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (found, half) => (half === undefined ? found : '\\ufffd'))
    : json;
  return `${whole}\n`;
}
