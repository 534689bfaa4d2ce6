/**
 * What the store remembers of a session file, so that an append need not read it again: the tree, the keys, where the
 * last good line ends. Fed with bytes in file order; does no I/O.
 */
import { parseSessionLine, type SessionTreeLine } from './session-line.ts';

/** A line of the tree. `text` is kept for messages only: they are parsed anew for each reader. */
export interface IndexedEntry {
  /** The id on disk; null in old files without ids. */
  id: string | null;
  /** Unique in the file: the id on disk, or `line:<number>` where there is none or it was used before. */
  viewId: string;
  parentId: string | null | undefined;
  previous: IndexedEntry | null;
  isMessage: boolean;
  text: string;
}

/** `good`: the last line is whole, only its newline is missing. `torn`: what follows the last newline is no line. */
export type Remainder = 'none' | 'good' | 'torn';

/** Bytes at the end of the known prefix that are compared before only the tail of a grown file is read. */
const PREFIX_CHECK_BYTES = 4096;
const NEWLINE = 0x0a;

export class SessionIndex {
  /** Bytes seen. */
  size = 0;
  /** Where the last good line ends, with its newline if it has one. */
  goodEnd = 0;
  remainder: Remainder = 'none';
  /** The last bytes seen, at most 4096. */
  lastBytes: Buffer = Buffer.alloc(0);
  hasHeader = false;
  /** The header's id; null: no header, or one without an id. */
  sessionId: string | null = null;
  /** The first line that could be parsed; an identity for files without a header. */
  firstLine: string | null = null;
  messageCount = 0;
  garbageLines = 0;
  /** Counted from 1; 0: none. */
  firstGarbageLine = 0;

  #lineCount = 0;
  #flat = false;
  #last: IndexedEntry | null = null;
  #leaf: IndexedEntry | null = null;
  #branch: IndexedEntry[] | null = [];
  readonly #entries: IndexedEntry[] = [];
  readonly #byId = new Map<string, IndexedEntry>();
  readonly #byKey = new Map<string, IndexedEntry>();

  /** Takes the next bytes of the file. With a remainder left, `endRemainder` comes first, or the file is read anew. */
  add(bytes: Buffer): void {
    let start = 0;
    for (;;) {
      const newline = bytes.indexOf(NEWLINE, start);
      if (newline === -1) break;
      this.#addLine(bytes.toString('utf8', start, newline));
      start = newline + 1;
    }
    this.goodEnd = this.size + start;
    this.size += bytes.length;
    this.lastBytes = Buffer.from(Buffer.concat([this.lastBytes, bytes]).subarray(-PREFIX_CHECK_BYTES));
    if (start === bytes.length) return;
    const rest = bytes.toString('utf8', start);
    const line = parseSessionLine(rest);
    if (line.kind === 'garbage' || line.kind === 'blank') {
      this.remainder = 'torn';
    } else {
      this.#addLine(rest);
      this.remainder = 'good';
      this.goodEnd = this.size;
    }
  }

  /** Tells that the file was made to end in a whole line: a torn remainder cut off, or the missing newline written. */
  endRemainder(): void {
    if (this.remainder === 'torn') {
      const torn = this.size - this.goodEnd;
      this.lastBytes = this.lastBytes.subarray(0, Math.max(0, this.lastBytes.length - torn));
      this.size = this.goodEnd;
    } else if (this.remainder === 'good') {
      this.lastBytes = Buffer.concat([this.lastBytes, Buffer.of(NEWLINE)]);
      this.size += 1;
      this.goodEnd = this.size;
    }
    this.remainder = 'none';
  }

  /** Whether the file is a session at all: a header, or at least one message. */
  get isSession(): boolean {
    return this.hasHeader || this.messageCount > 0;
  }

  /** The entry that the next row hangs on. */
  get leaf(): IndexedEntry | null {
    return this.#leaf;
  }

  /** The row with this key, wherever in the file it is. */
  byKey(key: string): IndexedEntry | undefined {
    return this.#byKey.get(key);
  }

  /** The entry that readers know under this id. */
  byViewId(viewId: string): IndexedEntry | undefined {
    return this.#byId.get(viewId) ?? this.#entries.find((entry) => entry.viewId === viewId);
  }

  /** Message entries from the root to the leaf; in files whose tree cannot be followed, all of them in file order. */
  branch(): readonly IndexedEntry[] {
    this.#branch ??= this.#walk();
    return this.#branch;
  }

  #addLine(text: string): void {
    this.#lineCount += 1;
    const line = parseSessionLine(text);
    if (line.kind === 'blank') return;
    if (line.kind === 'garbage') {
      this.garbageLines += 1;
      this.firstGarbageLine ||= this.#lineCount;
      return;
    }
    this.firstLine ??= text;
    if (line.kind === 'entry') this.#addEntry(line, text);
    else if (!this.hasHeader) {
      this.hasHeader = true;
      this.sessionId = line.sessionId;
    }
  }

  #addEntry(line: SessionTreeLine, text: string): void {
    // A line without an id that is no message cannot be a parent and shows nothing: it stays on disk and counts for nothing.
    if (line.id === null && !line.isMessage) return;
    const isRepeated = line.id !== null && this.#byId.has(line.id);
    const entry: IndexedEntry = {
      id: line.id,
      viewId: line.id === null || isRepeated ? `line:${this.#lineCount}` : line.id,
      parentId: line.parentId,
      previous: this.#last,
      isMessage: line.isMessage,
      text: line.isMessage ? text : '',
    };
    if (line.id === null || isRepeated) {
      this.#flat = true;
      this.#branch = null;
    }
    if (line.id !== null && !isRepeated) this.#byId.set(line.id, entry);
    if (this.#branch !== null && (this.#flat || this.#parentOf(entry) === this.#leaf)) {
      if (entry.isMessage) this.#branch.push(entry);
    } else {
      this.#branch = null;
    }
    this.#entries.push(entry);
    this.#last = entry;
    this.#leaf = entry;
    if (entry.isMessage) this.messageCount += 1;
    if (line.key !== null && !this.#byKey.has(line.key)) this.#byKey.set(line.key, entry);
  }

  /** Undefined: the parent is named but not in the file. */
  #parentOf(entry: IndexedEntry): IndexedEntry | null | undefined {
    if (entry.parentId === undefined) return entry.previous;
    return entry.parentId === null ? null : this.#byId.get(entry.parentId);
  }

  #walk(): IndexedEntry[] {
    const messages = () => this.#entries.filter((entry) => entry.isMessage);
    if (this.#flat) return messages();
    const path: IndexedEntry[] = [];
    const seen = new Set<IndexedEntry>();
    let entry: IndexedEntry | null | undefined = this.#leaf;
    while (entry !== null) {
      if (entry === undefined || seen.has(entry)) return messages();
      seen.add(entry);
      if (entry.isMessage) path.push(entry);
      entry = this.#parentOf(entry);
    }
    return path.reverse();
  }
}
