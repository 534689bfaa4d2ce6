import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { AttemptError } from '../errors.ts';

/** What to spawn: an executable, and arguments that come before all others. */
export interface CodexCommand {
  file: string;
  args: readonly string[];
}

/** npm package and folder of the native binary, by `platform-arch` of Node. */
const NATIVE: Readonly<Record<string, { package: string; target: string }>> = {
  'linux-x64': { package: '@openai/codex-linux-x64', target: 'x86_64-unknown-linux-musl' },
  'linux-arm64': { package: '@openai/codex-linux-arm64', target: 'aarch64-unknown-linux-musl' },
  'darwin-x64': { package: '@openai/codex-darwin-x64', target: 'x86_64-apple-darwin' },
  'darwin-arm64': { package: '@openai/codex-darwin-arm64', target: 'aarch64-apple-darwin' },
  'win32-x64': { package: '@openai/codex-win32-x64', target: 'x86_64-pc-windows-msvc' },
  'win32-arm64': { package: '@openai/codex-win32-arm64', target: 'aarch64-pc-windows-msvc' },
};

/** How to get a codex, for the end of an error message. */
export const HOW_TO_GET_CODEX =
  'set CODEX_PATH to a codex binary, or install the one this package uses with `npm i @openai/codex`';

/**
 * The codex that comes with the dependency `@openai/codex`. The native binary, not its JS wrapper: a wrapper is one
 * more process between us and the server, and a signal to it may not reach the server. The wrapper, run by this Node,
 * is the fallback where the layout of the platform package is not the expected one.
 * Throws AttemptError `codex_not_found`.
 */
export function resolveCodexCommand(): CodexCommand {
  const here = createRequire(import.meta.url);
  const manifest = resolveFrom(here, '@openai/codex/package.json');
  if (manifest === null) {
    throw new AttemptError('codex_not_found', `The package @openai/codex is not installed: ${HOW_TO_GET_CODEX}.`);
  }
  const native = NATIVE[`${process.platform}-${process.arch}`];
  if (native !== undefined) {
    // The platform package is a dependency of the codex package, so it is looked up from there.
    const platform = resolveFrom(createRequire(manifest), `${native.package}/package.json`);
    const name = process.platform === 'win32' ? 'codex.exe' : 'codex';
    const file = platform && path.join(path.dirname(platform), 'vendor', native.target, 'bin', name);
    if (file !== null && existsSync(file)) return { file, args: [] };
  }
  const wrapper = path.join(path.dirname(manifest), 'bin', 'codex.js');
  if (existsSync(wrapper)) return { file: process.execPath, args: [wrapper] };
  throw new AttemptError('codex_not_found', `No codex binary in ${path.dirname(manifest)}: ${HOW_TO_GET_CODEX}.`);
}

function resolveFrom(require: NodeJS.Require, request: string): string | null {
  try {
    return require.resolve(request);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** Why a file that is there cannot be started, for the middle of a sentence; null: it could be, or it is not there. */
export function whyNotRunnable(file: string): string | null {
  // A bare name was looked up in PATH: what was found there is not known.
  if (!path.isAbsolute(file)) return null;
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts === undefined) return null;
  if (facts.isDirectory()) return 'is a folder, not a codex binary';
  try {
    accessSync(file, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'is not executable' : null;
  }
}

/** Milliseconds that a binary gets to name its version. */
const VERSION_MS = 2_000;

/** The version that a binary names when asked with `--version`, as `1.2.3`; null: it names none. Never rejects. */
export function reportedVersion(
  { file, args }: CodexCommand,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: VERSION_MS, killSignal: 'SIGKILL', windowsHide: true } as const;
    const child = execFile(file, [...args, '--version'], options, (error, stdout) => {
      resolve(error === null ? (/\b\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null);
    });
    child.stdin?.end();
  });
}
