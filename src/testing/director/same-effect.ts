/** Codes that only the event cases of the suites have: the work's own code stands in their place. */
const MADE_UP = /(?<=[:=] ?)(?:broken|turn_failed|commit_refused|compaction_failed)(?=,|$)/g;

/** The same effect, whatever code the real work gives an error. */
export function sameEffect(expected: string, found: string): boolean {
  if (expected === found) return true;
  const quoted = expected.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${quoted.replace(MADE_UP, '[a-z_]+')}$`).test(found);
}
