import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { SandboxMode } from '../attempt/types.ts';
import { AttemptError, messageOf } from '../errors.ts';
import type { ApiKeys } from '../services.ts';
import { usageError } from './flags.ts';
import { type CliIo, variable } from './io.ts';
import { type LogLevel, readLogLevel, readSandbox, readTimeout, readTokenBudget } from './values.ts';

/** A path or package name, and the folder that a relative one starts from. */
export interface Located {
  spec: string;
  base: string;
}

/** The settings of a command after all layers: flags, environment, project file, user file, defaults. */
export interface Settings {
  /** Where sessions and the user file live; null: there is no home folder, and nothing may be made elsewhere. */
  home: string | null;
  /** Another codex binary: a path, or a name to be found in PATH. */
  codexPath?: string;
  engine?: Located;
  engineConfig?: Readonly<Record<string, unknown>>;
  hooks: readonly Located[];
  tools: readonly Located[];
  model?: string;
  sandbox?: SandboxMode;
  tokenBudget?: number;
  /** Milliseconds of the execution budget; 0: none. */
  timeout?: number;
  logLevel: LogLevel;
}

/** What the flags of a command give; a flag that was not there is absent. */
export interface FlagSettings {
  engine?: string;
  'engine-config'?: string;
  hooks?: readonly string[];
  tools?: readonly string[];
  model?: string;
  sandbox?: string;
  'token-budget'?: string;
  timeout?: string;
  'log-level'?: string;
}

/** What is wrong when `attemptHome` or `codexHome` is null. */
export const NO_HOME = 'there is no home folder (HOME is empty, not set or not absolute)';

/** The file of a project, in the working folder of the turn. */
export const PROJECT_FILE = '.codex-attemptrc.json';
/** The file of a user, in `$CODEX_ATTEMPT_HOME`. */
export const USER_FILE = 'config.json';

/**
 * Keys of a configuration file. A project file comes with a folder that may be anyone's, so it can name no code to be
 * run and cannot widen the sandbox: those keys stand in the user file only.
 */
export const CONFIG_KEYS = {
  model: 'project',
  tokenBudget: 'project',
  timeout: 'project',
  logLevel: 'project',
  codexPath: 'user',
  engine: 'user',
  engineConfig: 'user',
  hooks: 'user',
  tools: 'user',
  sandbox: 'user',
} as const;

type Layer = Partial<Omit<Settings, 'home'>>;

/** `$CODEX_ATTEMPT_HOME`, by default `~/.codex-attempt`; absolute. Null: nothing says where that is. */
export function attemptHome(io: CliIo): string | null {
  return folderOf(io, 'CODEX_ATTEMPT_HOME', '.codex-attempt');
}

/** `$CODEX_HOME`, by default `~/.codex`; absolute. Null: nothing says where that is. */
export function codexHome(io: CliIo): string | null {
  return folderOf(io, 'CODEX_HOME', '.codex');
}

function folderOf(io: CliIo, name: string, inHome: string): string | null {
  const named = variable(io.env, name);
  if (named !== undefined) return path.resolve(io.cwd, named);
  const home = homeFolder(io);
  return home === null ? null : path.join(home, inHome);
}

/** Keys for a Codex that nobody has logged in to. */
export function apiKeys(io: CliIo): ApiKeys {
  const codexApiKey = variable(io.env, 'CODEX_API_KEY');
  const openaiApiKey = variable(io.env, 'OPENAI_API_KEY');
  return {
    ...(codexApiKey === undefined ? {} : { codexApiKey }),
    ...(openaiApiKey === undefined ? {} : { openaiApiKey }),
  };
}

/** Windows names the home in other variables. A relative HOME would make folders wherever the caller stands. */
function homeFolder(io: CliIo): string | null {
  const home = variable(io.env, 'HOME') ?? (process.platform === 'win32' ? homedir() : '');
  return path.isAbsolute(home) ? home : null;
}

/**
 * Merges the layers. `cwd` is the working folder of the turn, where the project file is looked for. Rejects with
 * AttemptError `usage` that names the flag, the variable, or the file and its key.
 */
export async function loadSettings(io: CliIo, flags: FlagSettings, cwd: string): Promise<Settings> {
  const home = attemptHome(io);
  const user = home === null ? {} : await readFileLayer(path.join(home, USER_FILE), 'user');
  const project = await readFileLayer(path.join(cwd, PROJECT_FILE), 'project');
  const merged = { ...user, ...project, ...environmentLayer(io), ...(await flagLayer(io, flags)) };
  if (flags['engine-config'] !== undefined && merged.engine === undefined) {
    throw usageError('--engine-config needs an engine: add --engine');
  }
  return { home, hooks: [], tools: [], logLevel: 'silent', ...merged };
}

async function flagLayer(io: CliIo, flags: FlagSettings): Promise<Layer> {
  const locate = (spec: string): Located => ({ spec, base: io.cwd });
  const config = flags['engine-config'];
  return {
    ...(flags.engine === undefined ? {} : { engine: locate(flags.engine) }),
    ...(config === undefined ? {} : { engineConfig: await readEngineConfig(config, io.cwd) }),
    ...(flags.hooks === undefined ? {} : { hooks: flags.hooks.map(locate) }),
    ...(flags.tools === undefined ? {} : { tools: flags.tools.map(locate) }),
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.sandbox === undefined ? {} : { sandbox: readSandbox(flags.sandbox, '--sandbox') }),
    ...(flags['token-budget'] === undefined
      ? {}
      : { tokenBudget: readTokenBudget(flags['token-budget'], '--token-budget') }),
    ...(flags.timeout === undefined ? {} : { timeout: readTimeout(flags.timeout, '--timeout') }),
    ...(flags['log-level'] === undefined ? {} : { logLevel: readLogLevel(flags['log-level'], '--log-level') }),
  };
}

function environmentLayer(io: CliIo): Layer {
  const codexPath = variable(io.env, 'CODEX_PATH');
  const engine = variable(io.env, 'CODEX_ATTEMPT_ENGINE');
  const model = variable(io.env, 'CODEX_ATTEMPT_MODEL');
  const level = variable(io.env, 'CODEX_ATTEMPT_LOG');
  return {
    ...(codexPath === undefined ? {} : { codexPath: locateBinary(codexPath, io.cwd) }),
    ...(engine === undefined ? {} : { engine: { spec: engine, base: io.cwd } }),
    ...(model === undefined ? {} : { model }),
    ...(level === undefined ? {} : { logLevel: readLogLevel(level, 'CODEX_ATTEMPT_LOG') }),
  };
}

/** A bare name is left to PATH; anything with a separator is a path from `base`. */
function locateBinary(text: string, base: string): string {
  return text.includes('/') || text.includes(path.sep) ? path.resolve(base, text) : text;
}

/** JSON when it begins like an object or is some other JSON (which is refused), else a file that holds an object. */
export async function readEngineConfig(given: string, cwd: string): Promise<Record<string, unknown>> {
  if (/^\s*[{["]/.test(given)) return parseObject(given, '--engine-config');
  const file = path.resolve(cwd, given);
  const text = await readText(file);
  if (text !== null) return parseObject(text, file);
  if (isJson(given)) return parseObject(given, '--engine-config');
  throw new AttemptError('usage', `--engine-config names a file that is not there: ${file}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

async function readFileLayer(file: string, kind: 'user' | 'project'): Promise<Layer> {
  const text = await readText(file);
  if (text === null) return {};
  const fields = parseObject(text, file);
  const layer: Layer = {};
  for (const [key, value] of Object.entries(fields)) {
    if (key === '$schema') continue;
    if (!isConfigKey(key)) {
      throw new AttemptError('usage', `${file} has an unknown key ${JSON.stringify(key)}; known: ${keysOf(kind)}`);
    }
    if (kind === 'project' && CONFIG_KEYS[key] === 'user') {
      throw new AttemptError(
        'usage',
        `${file} may not set ${JSON.stringify(key)}: it comes with the folder; use a flag or the file ${USER_FILE} of CODEX_ATTEMPT_HOME`,
      );
    }
    READERS[key](layer, value, `${key} in ${file}`, path.dirname(file));
  }
  return layer;
}

function keysOf(kind: 'user' | 'project'): string {
  return Object.entries(CONFIG_KEYS)
    .filter(([, where]) => kind === 'user' || where === 'project')
    .map(([key]) => key)
    .join(', ');
}

type ConfigKey = keyof typeof CONFIG_KEYS;

function isConfigKey(key: string): key is ConfigKey {
  return Object.hasOwn(CONFIG_KEYS, key);
}

const READERS: Readonly<Record<ConfigKey, (layer: Layer, value: unknown, from: string, base: string) => void>> = {
  model: (layer, value, from) => {
    layer.model = text(value, from);
  },
  tokenBudget: (layer, value, from) => {
    layer.tokenBudget = readTokenBudget(scalar(value, from), from);
  },
  timeout: (layer, value, from) => {
    layer.timeout = readTimeout(scalar(value, from), from);
  },
  logLevel: (layer, value, from) => {
    layer.logLevel = readLogLevel(text(value, from), from);
  },
  codexPath: (layer, value, from, base) => {
    layer.codexPath = locateBinary(text(value, from), base);
  },
  engine: (layer, value, from, base) => {
    layer.engine = { spec: text(value, from), base };
  },
  engineConfig: (layer, value, from) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(from, 'an object');
    layer.engineConfig = { ...value };
  },
  hooks: (layer, value, from, base) => {
    layer.hooks = texts(value, from).map((spec) => ({ spec, base }));
  },
  tools: (layer, value, from, base) => {
    layer.tools = texts(value, from).map((spec) => ({ spec, base }));
  },
  sandbox: (layer, value, from) => {
    layer.sandbox = readSandbox(text(value, from), from);
  },
};

function text(value: unknown, from: string): string {
  if (typeof value !== 'string' || value === '') throw wrong(from, 'a text');
  return value;
}

function texts(value: unknown, from: string): string[] {
  if (!Array.isArray(value)) throw wrong(from, 'a list of texts');
  return value.map((item) => text(item, from));
}

function scalar(value: unknown, from: string): string {
  if (typeof value === 'number') return String(value);
  return text(value, from);
}

function wrong(from: string, expected: string): AttemptError {
  return new AttemptError('usage', `${from} must be ${expected}`);
}

function parseObject(json: string, from: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new AttemptError('usage', `${from} is not JSON: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AttemptError('usage', `${from} must hold a JSON object, {…}`);
  }
  return { ...value };
}

/** A file's text, or null when nothing is there. */
async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new AttemptError('usage', `${file} cannot be read: ${messageOf(error)}`);
  }
}
