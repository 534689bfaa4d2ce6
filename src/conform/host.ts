import type { Clock } from '../ports.ts';
import { nodeSessionFs, type SessionFs } from '../transcript/fs.ts';

/** When the sessions of an examination begin, in milliseconds since the epoch. */
const BEGIN = Date.UTC(2026, 0, 1);
const STEP_MS = 5;
const DAY_MS = 86_400_000;

/** Time that goes on with every look at it. No timer ever fires: what is slow is bounded where it happens. */
export function steadyClock(day: number): Clock {
  let now = BEGIN + day * DAY_MS;
  return {
    now() {
      now += STEP_MS;
      return now;
    },
    setTimeout: () => null,
    clearTimeout: () => undefined,
  };
}

/** Sessions of an examination need not survive a loss of power. */
export const unsyncedFs: SessionFs = {
  ...nodeSessionFs,
  async open(path, mode) {
    const handle = await nodeSessionFs.open(path, mode);
    return {
      read: (...args) => handle.read(...args),
      write: (...args) => handle.write(...args),
      truncate: (size) => handle.truncate(size),
      sync: async () => undefined,
      close: () => handle.close(),
    };
  },
};

/** Ids that are equal in every run and unique over all sessions of it: `00000007-0000-4000-8000-000000000001`. */
export function idsOf(session: number, series: 8 | 9): () => string {
  let last = 0;
  return () => {
    last += 1;
    const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
    return `${hex(session, 8)}-0000-4000-${series}000-${hex(last, 12)}`;
  };
}
