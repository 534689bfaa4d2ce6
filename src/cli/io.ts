import type { Readable } from 'node:stream';

/** A stream for people or data; `isTTY` says which of the two reads it. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, done?: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** All that a command gets of the process it runs in. */
export interface CliIo {
  readonly env: Environment;
  /** The caller's working folder. */
  readonly cwd: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

/** A variable's value; unset and empty are the same. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

/** Writes and waits until the stream has taken it; a reader that went away is not an error. */
export function writeOut(stream: OutputStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === undefined || error === null || isBrokenPipe(error)) resolve();
      else reject(error);
    });
  });
}

/** Whether the reader of a pipe went away (`… | head`). */
export function isBrokenPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED';
}
