import { writeSync } from 'node:fs';
import type { OutputStream } from './io.ts';

/** The stdout of the program itself. */
export interface OwnStdout extends OutputStream {
  /** Writes past the event loop, for a process that exits now. A reader that is gone or stuck loses the text. */
  writeNow(text: string): void;
}

/** How often a full pipe is tried again before the last line is given up, and the milliseconds between two tries. */
const TRIES = 100;
const PAUSE_MS = 10;
const STDOUT_FD = 1;

/**
 * Keeps stdout for data: from now on what anything else in this process writes to it (`console.log` of an engine, a
 * hook or a tool, also while it loads) goes to `stderr`. Writing to descriptor 1 directly is not caught. The stream
 * remembers its first failure: what is written after it fails for the same reason.
 */
export function claimStdout(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): OwnStdout {
  const write = stdout.write.bind(stdout);
  let failure: Error | null = null;
  const failed = (error: Error): void => {
    failure ??= error;
  };
  stdout.on('error', failed);
  Object.assign(stdout, {
    write: stderr.write.bind(stderr),
    // Ending it would end ours.
    end(...given: unknown[]) {
      const [text] = given;
      if (typeof text === 'string' || text instanceof Uint8Array) stderr.write(text);
      for (const last of given) if (typeof last === 'function') last();
      return stdout;
    },
  });
  return {
    get isTTY() {
      return stdout.isTTY;
    },
    get columns() {
      return stdout.columns;
    },
    write(text, done) {
      if (failure !== null) {
        done?.(failure);
        return false;
      }
      return write(text, (error) => {
        if (error instanceof Error) failed(error);
        done?.(failure);
      });
    },
    on: (event, listener) => stdout.on(event, listener),
    writeNow(text) {
      if (failure !== null) return;
      // A line that the stream has not written to its end must not run into this one.
      const bytes = Buffer.from(stdout.writableLength > 0 ? `\n${text}` : text);
      try {
        writeAll(bytes);
      } catch (error) {
        failed(error instanceof Error ? error : new Error(String(error)));
      }
    },
  };
}

function writeAll(bytes: Uint8Array): void {
  let written = 0;
  for (let tries = 0; written < bytes.length && tries < TRIES; tries += 1) {
    try {
      written += writeSync(STDOUT_FD, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
