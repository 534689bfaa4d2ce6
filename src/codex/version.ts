import { AttemptError } from '../errors.ts';

/** The oldest codex whose app-server this client was tested with; older ones are refused. */
export const MIN_CODEX_VERSION = '0.154.0';
/** The newest codex that was tested; newer ones are used with a warning. */
export const TESTED_CODEX_VERSION = '0.171.0';

/** The version in the answer to `initialize`: `<client name>/1.2.3 (…)`. Null: it holds none. */
export function versionOf(userAgent: string, clientName: string): string | null {
  const prefix = `${clientName}/`;
  if (!userAgent.startsWith(prefix)) return null;
  return /^\d+\.\d+\.\d+/.exec(userAgent.slice(prefix.length))?.[0] ?? null;
}

/** Negative, zero or positive, as `a` is older than, equal to or newer than `b`; both `1.2.3`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let i = 0; i < 3; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Throws AttemptError `codex_too_old`. `command` is what was started. */
export function refuseOldVersion(version: string, command: string): void {
  if (compareVersions(version, MIN_CODEX_VERSION) < 0) {
    throw new AttemptError(
      'codex_too_old',
      `codex ${version} (${command}) is too old: ${MIN_CODEX_VERSION} or newer is needed. Update it with ` +
        '`npm i -g @openai/codex@latest`, or unset CODEX_PATH to use the one that comes with this package.',
      { data: { found: version, needed: MIN_CODEX_VERSION, command } },
    );
  }
}
