/** Opens files that may hold what a user said: readable by their owner alone. */

import { closeSync, fchmodSync, fstatSync, openSync } from 'node:fs';

/**
 * Opens a file for writing with mode 0600, also when it was there with a wider one. `flags`: `a` keeps what is there,
 * `w` empties it. Devices such as /dev/stderr keep their mode. Throws what the file system throws.
 */
export function openPrivateFile(path: string, flags: 'a' | 'w'): number {
  const fd = openSync(path, flags, 0o600);
  try {
    if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}
