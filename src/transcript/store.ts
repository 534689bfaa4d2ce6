/**
 * The standalone session store: a session file that pi's tools read too, and what one session keeps beside it.
 */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock, Logger, SessionStore } from '../ports.ts';
import { nodeSessionFs, type SessionFs, statOrNull } from './fs.ts';
import { jsonFile } from './json-file.ts';
import { openOutbox } from './outbox.ts';
import { createSessionTranscript } from './session-transcript.ts';
import { sidePaths } from './side-folder.ts';
import { parseThreadBinding, parseTurnIntent } from './side-values.ts';

export interface SessionStoreOptions {
  /** Path of the session file; need not exist. */
  sessionFile: string;
  /** `rehearsal`, or anything else for real runs: the two have bindings of their own. */
  realm: string;
  /** Working directory of the session; goes into the header of a new file. */
  cwd: string;
  clock: Clock;
  /** Default: the real file system. */
  fs?: SessionFs;
  /** Default: silent. */
  logger?: Logger;
  /** Ids of entries and of a new session. Default: random UUIDs. */
  newId?: () => string;
}

/**
 * The store of one session. Touches nothing until it is used: `transcript.open` takes the lock and makes the side
 * folder, the first append makes the session file. Reading works without `open`, appending does not.
 */
export function openSessionStore(options: SessionStoreOptions): SessionStore {
  const { realm, cwd, clock, logger, fs = nodeSessionFs, newId = randomUUID } = options;
  const sessionFile = resolve(options.sessionFile);
  const paths = sidePaths(sessionFile, realm);
  return {
    transcript: createSessionTranscript({
      sessionFile,
      realm,
      cwd,
      clock,
      fs,
      logger,
      newId,
      async dropOrphans() {
        // A binding belongs to the session file (spec T2): without the file its threads are another conversation's. A
        // journal says that the first turn of this very session broke off before its row was written.
        if ((await statOrNull(fs, paths.journal)) !== null) return;
        for (const path of paths.bindings) await fs.remove(path);
      },
    }),
    bindings: jsonFile({ path: paths.binding, fs, parse: parseThreadBinding, logger }),
    journal: jsonFile({ path: paths.journal, fs, parse: parseTurnIntent, logger }),
    outbox: openOutbox({ folder: paths.outbox, fs, logger }),
  };
}
