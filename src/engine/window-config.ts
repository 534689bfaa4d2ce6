export interface WindowEngineConfig {
  /** Folder for the state files. Default: beside the host's session, `<storePath>.engine.json`. */
  stateDir?: string;
  /** `thread_bootstrap`: the host projects once per epoch, and the epoch changes when the digest does. */
  mode?: 'per_turn' | 'thread_bootstrap';
  /** Tokens of the window, when it shall be smaller than the host's budget. */
  windowTokens?: number;
  /** Characters of the digest's lines. */
  digestChars?: number;
  /** Committed turns that the ledger remembers after maintenance. */
  ledgerSize?: number;
  turnMaintenanceMode?: 'foreground' | 'background';
}

export const WINDOW_ENGINE_DEFAULTS = {
  mode: 'per_turn',
  windowTokens: Number.POSITIVE_INFINITY,
  digestChars: 4000,
  ledgerSize: 256,
  turnMaintenanceMode: 'foreground',
} as const satisfies WindowEngineConfig;

/** A configuration with nothing left open. */
export type WindowSettings = Required<Omit<WindowEngineConfig, 'stateDir'>> & { stateDir?: string };

const ALLOWED: Readonly<Record<keyof WindowEngineConfig, (value: unknown) => boolean>> = {
  stateDir: (value) => typeof value === 'string' && value !== '',
  mode: (value) => value === 'per_turn' || value === 'thread_bootstrap',
  windowTokens: isPositive,
  digestChars: isPositive,
  ledgerSize: isPositive,
  turnMaintenanceMode: (value) => value === 'foreground' || value === 'background',
};

/**
 * Fills in the defaults. The configuration comes from a file that a person wrote: throws, naming the field, for one that
 * is unknown or has a value that it cannot have.
 */
export function windowSettings(config: WindowEngineConfig): WindowSettings {
  for (const [field, value] of Object.entries(config)) {
    if (!isField(field)) throw new Error(`the window engine has no setting "${field}"`);
    if (!ALLOWED[field](value)) throw new Error(`the window engine's setting "${field}" cannot be ${String(value)}`);
  }
  return { ...WINDOW_ENGINE_DEFAULTS, ...config };
}

function isField(name: string): name is keyof WindowEngineConfig {
  return Object.hasOwn(ALLOWED, name);
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0;
}
