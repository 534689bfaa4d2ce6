// Bundlers and test runners rewrite a plain `import(url)` to their own module graph; a plug-in must come from Node's.
// A module given as a `data:` URL is out of their reach.
const IMPORTER = 'data:text/javascript,export const load = (url) => import(url);';

/** Node's own `import()` of an absolute URL. Rejects with whatever the module throws. */
export async function nativeImport(url: string): Promise<unknown> {
  const { load } = (await import(IMPORTER)) as { load: (url: string) => Promise<unknown> };
  return load(url);
}
