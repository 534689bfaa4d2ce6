import path from 'node:path';

/** Variables that say where a program keeps things, and what they become below the base folder. */
const HOMES = {
  HOME: 'home',
  USERPROFILE: 'home',
  APPDATA: 'home/appdata',
  LOCALAPPDATA: 'home/appdata-local',
  XDG_CONFIG_HOME: 'home/.config',
  XDG_DATA_HOME: 'home/.local/share',
  XDG_STATE_HOME: 'home/.local/state',
  XDG_CACHE_HOME: 'home/.cache',
  OPENCLAW_HOME: 'home',
  OPENCLAW_STATE_DIR: 'openclaw',
  CODEX_HOME: 'codex',
  CODEX_ATTEMPT_HOME: 'codex-attempt',
  TMPDIR: 'tmp',
  TEMP: 'tmp',
  TMP: 'tmp',
} as const;

/** OpenClaw's own variables may point to what a user has. */
const FOREIGN = /^OPENCLAW_/;

/**
 * The caller's environment with every home, state and temporary folder below `base`, so that an engine which is
 * examined comes across nothing that its user has. What its own variables or its configuration name is not known here.
 * `folders` are to be made.
 */
export function isolatedEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  base: string,
): { variables: Record<string, string>; folders: string[] } {
  const homes = Object.fromEntries(Object.entries(HOMES).map(([name, folder]) => [name, path.join(base, folder)]));
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !FOREIGN.test(entry[0]),
  );
  return { variables: { ...Object.fromEntries(kept), ...homes }, folders: [...new Set(Object.values(homes))] };
}
