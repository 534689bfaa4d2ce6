import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Guard } from './guard.ts';

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

/** The same for a command that runs code of others. */
export interface GuardedIo extends CliIo {
  readonly guard: Guard;
}

/** A variable's value; unset and empty are the same. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

/**
 * The folder that relative paths start from. `npm run codex-attempt` changes to the folder of the package first: then
 * it is the one that npm was called in. What such a run starts elsewhere inherits the variables and is not meant.
 */
export function callerFolder(env: Environment, cwd: string): string {
  const [caller, manifest] = [variable(env, 'INIT_CWD'), variable(env, 'npm_package_json')];
  if (env['npm_lifecycle_event'] !== 'codex-attempt' || caller === undefined) return cwd;
  return manifest === undefined || path.dirname(manifest) === cwd ? caller : cwd;
}

/**
 * Writes and waits until the stream has taken it. False: nobody reads it any more, which is not an error. Rejects with
 * an error that names the stream when it cannot be written.
 */
export function writeOut(stream: OutputStream, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === undefined || error === null) resolve(true);
      else if (isBrokenPipe(error)) resolve(false);
      else reject(unwritable(error));
    });
  });
}

/** Stdout that fails for another reason than a reader who left. */
export function unwritable(error: Error): Error {
  return new Error(`stdout cannot be written: ${error.message}`, { cause: error });
}

/** Whether the reader of a pipe went away (`… | head`). */
export function isBrokenPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED';
}
