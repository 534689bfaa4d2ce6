/**
 * The standalone session store: a session file that pi's tools read too, and what one session keeps beside it.
 */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock, Logger, SessionStore, ThreadBindings } from '../ports.ts';
import { nodeSessionFs, type SessionFs } from './fs.ts';
import { jsonFile } from './json-file.ts';
import { openOutbox } from './outbox.ts';
import { realSessionFile } from './real-path.ts';
import { createSessionTranscript } from './session-transcript.ts';
import { sidePaths } from './side-folder.ts';
import { parseThreadBinding, parseTurnIntent, type StoredBinding } from './side-values.ts';
import { adoptSuccessor } from './successor.ts';

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
 * folder, the first append makes the session file. Reading works without `open`, and writes nothing; appending does not.
 * A path that is a link, or leads through one, stands for what it leads to. Throws AttemptError `session_unreadable`
 * when links go in a circle.
 */
export function openSessionStore(options: SessionStoreOptions): SessionStore {
  const { realm, cwd, clock, logger, fs = nodeSessionFs, newId = randomUUID } = options;
  const sessionFile = resolve(options.sessionFile);
  const realFile = realSessionFile(sessionFile);
  const paths = sidePaths(realFile, realm);
  const bindings = jsonFile({ path: paths.binding, fs, parse: parseThreadBinding, logger });
  const isElsewhere = (binding: StoredBinding): boolean =>
    binding.sessionFile !== undefined && binding.sessionFile !== realFile;
  const ownBindings: ThreadBindings = {
    async read() {
      const stored = await bindings.read();
      if (stored === null || isElsewhere(stored)) return null;
      const { sessionFile: _place, ...binding } = stored;
      return binding;
    },
    write: (binding) => bindings.write({ ...binding, sessionFile: realFile }),
    clear: () => bindings.clear(),
  };
  const journal = jsonFile({ path: paths.journal, fs, parse: parseTurnIntent, logger });
  const outbox = openOutbox({ folder: paths.outbox, fs, logger });

  async function setAside(): Promise<string[]> {
    const binding = await bindings.setAside();
    const intent = await journal.setAside();
    return [
      ...(binding === null ? [] : [notice(binding, 'a new native thread is started')]),
      ...(intent === null ? [] : [notice(intent, 'a turn that broke off is not looked for')]),
      ...(await outbox.setAside()).map((record) => notice(record, 'the context engine does not get the turn in it')),
    ];
  }

  const transcript = createSessionTranscript({
    sessionFile,
    realFile,
    realm,
    cwd,
    clock,
    fs,
    logger,
    newId,
    async prepare(isNew) {
      const notices = await setAside();
      const stored = await bindings.read();
      if (stored !== null && isElsewhere(stored)) notices.push(COPIED);
      if (!isNew) return { sessionId: null, notices };
      // A binding belongs to the session file (spec T2): without the file its threads are another conversation's. A
      // journal says that the first turn of this very session broke off before its row was written.
      const intent = await journal.read();
      if (intent === null) for (const path of paths.bindings) await fs.remove(path);
      return { sessionId: intent?.sessionId ?? null, notices };
    },
  });
  const store: SessionStore = {
    transcript,
    bindings: ownBindings,
    journal,
    outbox,
    adopt: (successor, given) =>
      adoptSuccessor(
        {
          realFile,
          fs,
          store,
          rename: (sessionId) => transcript.rename(sessionId),
          openOther: (other) => openSessionStore({ ...options, sessionFile: other }),
        },
        successor,
        given,
      ),
  };
  return store;
}

const COPIED =
  'The session was copied or moved: its native threads stay with the other place, the next turn starts a new one.';

function notice(path: string, consequence: string): string {
  return `A file beside the session made no sense and was set aside as ${path}: ${consequence}.`;
}
