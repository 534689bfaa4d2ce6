type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Names that the app-server inherits from the caller's environment, in capitals: case does not count (`https_proxy`,
 * Windows' `Path`). Everything else stays out: secrets of other programs, and the marks that another codex leaves for
 * its children, which would change how this one behaves.
 */
const INHERITED_VARIABLES: readonly string[] = [
  // the user and the shell
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'TMPDIR',
  'TZ',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
  // the way to the network
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'CODEX_CA_CERTIFICATE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  // codex
  'CODEX_HOME',
  'CODEX_SQLITE_HOME',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'OPENAI_ORGANIZATION',
  'OPENAI_PROJECT',
  'RUST_LOG',
  'RUST_BACKTRACE',
  // Windows
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'HOMEDRIVE',
  'HOMEPATH',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'PROGRAMFILES',
];

const inherited = new Set(INHERITED_VARIABLES);

export interface EnvironmentOptions {
  /** The caller's environment. */
  env: Environment;
  /** Becomes CODEX_HOME; undefined: as in `env`. */
  codexHome?: string | undefined;
  /** Passed as they are, last; for the `env_key` of a model provider of one's own, for example. */
  extraEnv?: Environment | undefined;
}

/** The environment of the app-server: the allow-list and `LC_*` out of `env`, then `codexHome`, then `extraEnv`. */
export function codexEnvironment({ env, codexHome, extraEnv = {} }: EnvironmentOptions): Record<string, string> {
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const key = name.toUpperCase();
    if (value !== undefined && (inherited.has(key) || key.startsWith('LC_'))) child[name] = value;
  }
  if (codexHome !== undefined) child['CODEX_HOME'] = codexHome;
  for (const [name, value] of Object.entries(extraEnv)) if (value !== undefined) child[name] = value;
  return child;
}
