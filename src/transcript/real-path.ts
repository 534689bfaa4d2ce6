/**
 * Where a session really lies: two names of one file are one session, with one lock and one side folder.
 */
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { AttemptError } from '../errors.ts';
import { errorCode } from './fs.ts';

/** As many links as Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * The absolute path behind all links, of the file and of its folders. Nothing has to be there: of a link that leads
 * nowhere it is the place that the link names, and there the session comes into being. What cannot be looked at is left
 * as it is, for the first use to name. Throws AttemptError `session_unreadable` when links go in a circle.
 */
export function realSessionFile(sessionFile: string): string {
  const path = resolve(sessionFile);
  try {
    return follow(path, MAX_LINKS);
  } catch (error) {
    if (errorCode(error) !== 'ELOOP') return path;
    throw new AttemptError(
      'session_unreadable',
      `The session path ${path} leads through links that go in a circle. Remove the link, or name another file.`,
      { cause: error, data: { path, reason: 'ELOOP' } },
    );
  }
}

function follow(path: string, linksLeft: number): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const folder = follow(parent, linksLeft);
  const target = linkTarget(join(folder, basename(path)));
  if (target === null) return join(folder, basename(path));
  if (linksLeft === 0) throw Object.assign(new Error(`ELOOP: too many links, ${path}`), { code: 'ELOOP' });
  return follow(resolve(folder, target), linksLeft - 1);
}

/** What the link at `path` names; null: nothing is there, or no link. */
function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (['ENOENT', 'EINVAL'].includes(errorCode(error) ?? '')) return null;
    throw error;
  }
}
