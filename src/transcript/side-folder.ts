/**
 * The folder beside a session file: lock, binding, journal, outbox, rehearsal home.
 */
import { dirname, join } from 'node:path';
import type { SessionFs } from './fs.ts';

/** Where the side files of a session lie. */
export interface SidePaths {
  folder: string;
  lock: string;
  journal: string;
  outbox: string;
  /** Of the realm that the paths were asked for. */
  binding: string;
  /** Of every realm. */
  bindings: readonly string[];
}

/** The realm whose threads live in a Codex home of their own. */
export const REHEARSAL_REALM = 'rehearsal';

/** The paths of the side files of `sessionFile` (`realSessionFile` of what the user named), the binding's for `realm` (any other than `rehearsal`: the real one). */
export function sidePaths(sessionFile: string, realm: string): SidePaths {
  const folder = `${sessionFile}.attempt`;
  const real = join(folder, 'binding.json');
  const rehearsed = join(folder, 'rehearsal', 'binding.json');
  return {
    folder,
    lock: join(folder, 'lock'),
    journal: join(folder, 'journal.json'),
    outbox: join(folder, 'outbox'),
    binding: realm === REHEARSAL_REALM ? rehearsed : real,
    bindings: [real, rehearsed],
  };
}

/** Makes the folder when it is wanted and takes it away again when nothing came of it. */
export class SideFolder {
  readonly path: string;
  readonly #fs: SessionFs;
  /** What goes when it is empty, innermost first: the folder itself, whoever made it, and the parents that we made. */
  #removable: string[] = [];

  constructor(path: string, fs: SessionFs) {
    this.path = path;
    this.#fs = fs;
  }

  /** Mode 0700, also for parents that were missing. May be called again. */
  async ensure(): Promise<void> {
    const first = await this.#fs.mkdir(this.path);
    const removable = [this.path];
    for (let folder = this.path; first !== undefined && folder !== first && folder !== dirname(folder); ) {
      folder = dirname(folder);
      removable.push(folder);
    }
    if (removable.length > this.#removable.length) this.#removable = removable;
  }

  /** Removes what is empty; a folder that is in use stays. Does nothing without an `ensure` before. Never rejects. */
  async removeIfUnused(): Promise<void> {
    const folders = this.#removable;
    this.#removable = [];
    for (const folder of folders) {
      const isRemoved = await this.#fs.rmdir(folder).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }
}
