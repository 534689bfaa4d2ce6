import { createRequire } from 'node:module';

export const PACKAGE_NAME = 'codex-attempt-machine';

// By its own name: the path to package.json is not the same from src/ and from dist/.
const manifest: unknown = createRequire(import.meta.url)(`${PACKAGE_NAME}/package.json`);

/** The version of this package, `1.2.3`. */
export const PACKAGE_VERSION: string = versionIn(manifest);

function versionIn(value: unknown): string {
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined;
  if (typeof version !== 'string') throw new TypeError(`package.json of ${PACKAGE_NAME} has no version`);
  return version;
}
