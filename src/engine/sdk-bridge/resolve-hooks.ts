import Module, { createRequire, register } from 'node:module';
import { type EngineSdk, SDK_KEY } from './sdk.ts';

const UNRESOLVED = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED']);

/**
 * Serves the SDK's specifiers to `import` and `require`, where they do not resolve by themselves. Once per process.
 * `module.register` and a wrapped CJS resolver, because the synchronous `registerHooks` is missing in Node 20.
 */
export function registerResolveHooks(sdk: EngineSdk): void {
  registerImportHook(sdk);
  wrapRequire(sdk);
}

/** The hook runs in a thread of its own, so it only maps names to `data:` modules, which read the SDK in the main one. */
function registerImportHook(sdk: EngineSdk): void {
  const urls = Object.fromEntries(
    Object.entries(sdk.modules).map(([specifier, exports]) => [
      specifier,
      javascriptUrl(moduleText(specifier, exports)),
    ]),
  );
  const hook = `
    let urls = {};
    export function initialize(data) { urls = data.urls; }
    export async function resolve(specifier, context, next) {
      const url = urls[specifier];
      if (url === undefined) return next(specifier, context);
      try {
        return await next(specifier, context);
      } catch (error) {
        if (!${JSON.stringify([...UNRESOLVED])}.includes(error?.code)) throw error;
        return { url, shortCircuit: true };
      }
    }`;
  register(javascriptUrl(hook), { parentURL: import.meta.url, data: { urls } });
}

function moduleText(specifier: string, exports: Readonly<Record<string, unknown>>): string {
  const found = `globalThis[Symbol.for(${JSON.stringify(SDK_KEY)})].modules[${JSON.stringify(specifier)}]`;
  const names = Object.keys(exports).map((name) => `export const ${name} = sdk.${name};`);
  return [`const sdk = ${found};`, ...names, 'export default sdk;'].join('\n');
}

function javascriptUrl(source: string): string {
  return `data:text/javascript;base64,${Buffer.from(source).toString('base64')}`;
}

/** The resolver is no public API of Node; if it ever goes, `require` of the SDK fails as it does without the bridge. */
function wrapRequire(sdk: EngineSdk): void {
  const original: unknown = Reflect.get(Module, '_resolveFilename');
  if (typeof original !== 'function') return;
  const { cache } = createRequire(import.meta.url);
  Reflect.set(Module, '_resolveFilename', function resolveFilename(this: unknown, request: string, ...rest: unknown[]) {
    try {
      return Reflect.apply(original, this, [request, ...rest]) as unknown;
    } catch (error) {
      const exports = sdk.modules[request];
      if (exports === undefined || !UNRESOLVED.has(codeOf(error))) throw error;
      const filename = `${SDK_KEY}:${request}`;
      if (cache[filename] === undefined) {
        const served = new Module(filename);
        served.filename = filename;
        served.exports = exports;
        served.loaded = true;
        cache[filename] = served;
      }
      return filename;
    }
  });
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null ? String(Reflect.get(error, 'code')) : '';
}
