import { appendFileSync, closeSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { openPrivateFile } from '../observe/private-file.ts';
import type { ModelRequestBody } from '../rehearsal/index.ts';
import { usageError } from './flags.ts';

/** The file of `--record-requests`: a line of JSON per model request. */
export interface RequestRecord {
  /** Never throws. */
  add(body: ModelRequestBody): void;
  close(): void;
}

/**
 * Opens the file, with mode 0600; what is there stays. Throws AttemptError `usage` when that fails. The first line that
 * cannot be written ends the record and is told to `onError`; the attempt goes on. `command`: whose help is named.
 */
export function openRequestRecord(file: string, onError: (message: string) => void, command = 'run'): RequestRecord {
  let fd: number | null;
  try {
    fd = openPrivateFile(file, 'a');
  } catch (error) {
    throw usageError(`--record-requests: ${file} cannot be opened: ${messageOf(error)}`, command);
  }
  const close = (): void => {
    if (fd === null) return;
    const closing = fd;
    fd = null;
    closeSync(closing);
  };
  return {
    add(body) {
      if (fd === null) return;
      try {
        appendFileSync(fd, `${JSON.stringify(body)}\n`);
      } catch (error) {
        onError(`--record-requests: ${file} cannot be written, no more requests are recorded: ${messageOf(error)}`);
        close();
      }
    },
    close,
  };
}
