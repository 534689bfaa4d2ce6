import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';

/** `tried` is what a message should name. */
export type Resolved = { ok: true; path: string } | { ok: false; tried: string };

/**
 * Finds the file that a user meant by `spec`: a file URL, an absolute path, a path from `cwd`, or the name of a package
 * that resolves from `cwd`. A folder and a package are entered where their package.json says that the OpenClaw
 * extension is, else at their main entry. A name that is also a file in `cwd` is that file.
 */
export function resolveModule(spec: string, cwd: string): Resolved {
  const path = spec.startsWith('file:') ? fileUrlPath(spec) : resolve(cwd, spec);
  if (path === null) return { ok: false, tried: spec };
  const kind = kindOf(path);
  if (kind === 'file') return { ok: true, path };
  if (isPathLike(spec)) {
    if (kind === 'none') return { ok: false, tried: path };
    const entry = entryOfFolder(path);
    return entry === null ? { ok: false, tried: `${path} (a folder without an entry)` } : { ok: true, path: entry };
  }
  const entry = entryOfPackage(spec, cwd);
  return entry === null
    ? { ok: false, tried: `the package ${spec} from ${cwd}, and ${path}` }
    : { ok: true, path: entry };
}

function fileUrlPath(url: string): string | null {
  return URL.canParse(url) && new URL(url).host === '' ? fileURLToPath(url) : null;
}

function isPathLike(spec: string): boolean {
  return (
    spec.startsWith('.') || spec.startsWith('file:') || isAbsolute(spec) || /\.(?:[cm]?[jt]s|tsx|json)$/.test(spec)
  );
}

function kindOf(path: string): 'file' | 'folder' | 'none' {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'none';
  return stats.isDirectory() ? 'folder' : 'file';
}

function entryOfFolder(folder: string): string | null {
  return extensionOf(folder) ?? tryRequireResolve(folder, folder);
}

function entryOfPackage(spec: string, cwd: string): string | null {
  const name = /^(@[^/]+\/)?[^/]+$/.test(spec) ? spec : null;
  if (name !== null) {
    const folder = packageFolder(name, cwd);
    const extension = folder === null ? null : extensionOf(folder);
    if (extension !== null) return extension;
  }
  // With the conditions of `import` first, then those of `require`, which also knows a package from within itself.
  const jiti = createJiti(join(cwd, 'noop.js'), { fsCache: false });
  const found = jiti.esmResolve(spec, { try: true, conditions: ['node', 'import'] });
  if (found !== undefined && found !== '') return found.startsWith('file:') ? fileURLToPath(found) : found;
  return tryRequireResolve(spec, cwd);
}

function packageFolder(name: string, cwd: string): string | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (dirname(folder) === folder) return null;
  }
}

/** The first OpenClaw extension that a package names and has; built ones before sources. */
function extensionOf(folder: string): string | null {
  const openclaw = fieldOf(packageJson(folder), 'openclaw');
  const named = [fieldOf(openclaw, 'runtimeExtensions'), fieldOf(openclaw, 'extensions')].flat();
  for (const entry of named) {
    if (typeof entry !== 'string') continue;
    const path = resolve(folder, entry);
    if (kindOf(path) === 'file') return path;
  }
  return null;
}

/** A package.json that is absent or cannot be read says nothing; the package is then entered at its main entry. */
function packageJson(folder: string): unknown {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (Reflect.get(value, name) as unknown) : undefined;
}

function tryRequireResolve(spec: string, from: string): string | null {
  try {
    return createRequire(pathToFileURL(join(from, 'noop.js'))).resolve(spec);
  } catch (error) {
    const code = fieldOf(error, 'code');
    if (typeof code === 'string' && UNRESOLVABLE.has(code)) return null;
    throw error;
  }
}

const UNRESOLVABLE: ReadonlySet<string> = new Set([
  'MODULE_NOT_FOUND',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_INVALID_MODULE_SPECIFIER',
  'ERR_INVALID_PACKAGE_CONFIG',
  'ERR_INVALID_PACKAGE_TARGET',
]);
