import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import { installSdkBridge } from '../engine/sdk-bridge/index.ts';
import { messageOf } from '../errors.ts';
import { nativeImport } from './native-import.ts';
import { resolveModule } from './resolve.ts';

/** `value` is the default export, or `module.exports`, or the module itself when it has neither. */
export interface LoadedModule {
  value: unknown;
  /** The file that was loaded. */
  path: string;
}

/** `message` is a sentence for a person that names the path; it is not redacted. */
export type LoadResult =
  | { ok: true; module: LoadedModule }
  | { ok: false; reason: 'not_found' | 'failed'; message: string };

/**
 * The one loader for engines, hooks and tools. Loading runs the module's code in this process: only what the user named
 * is loaded. TypeScript goes through jiti, `.cjs` through `require`, everything else through Node's `import()`. A module
 * that was loaded before comes from Node's cache. Never rejects.
 */
export async function loadModule(spec: string, cwd: string): Promise<LoadResult> {
  const resolved = resolveModule(spec, cwd);
  if (!resolved.ok) return { ok: false, reason: 'not_found', message: `nothing to load at ${resolved.tried}` };
  const { path } = resolved;
  try {
    const exports = await loadFile(path);
    return { ok: true, module: { value: defaultOf(exports), path } };
  } catch (error) {
    const kind = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : '';
    return { ok: false, reason: 'failed', message: `${path} could not be loaded: ${kind}${messageOf(error)}` };
  }
}

async function loadFile(path: string): Promise<unknown> {
  const sdk = installSdkBridge();
  const extension = extname(path);
  if (/^\.[cm]?tsx?$/.test(extension)) {
    const require = createRequire(path);
    // jiti resolves by itself, past Node's hooks: the bridge's rule "only what does not resolve" is applied here.
    const virtualModules = Object.fromEntries(
      Object.entries(sdk.modules).filter(([specifier]) => isServedByBridge(require.resolve, specifier)),
    );
    return createJiti(path, { fsCache: false, interopDefault: false, virtualModules }).import(path);
  }
  if (extension === '.cjs') return createRequire(path)(path) as unknown;
  return nativeImport(pathToFileURL(path).href);
}

/** The bridge names what it serves; a real file means that the SDK is installed beside the plug-in. */
function isServedByBridge(resolve: (specifier: string) => string, specifier: string): boolean {
  return resolve(specifier).endsWith(`:${specifier}`);
}

function defaultOf(exports: unknown): unknown {
  const first = ownDefault(exports);
  // CommonJS seen through import() has its exports as default, and those may hold a compiled default once more.
  return ownDefault(first);
}

function ownDefault(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('default' in value)) return value;
  return value.default ?? value;
}
