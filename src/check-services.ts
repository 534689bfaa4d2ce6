import path from 'node:path';
import { AttemptError } from './errors.ts';
import type { ServicesOptions } from './services.ts';

/** Refuses options that no services can be made of, from a caller without types. Throws AttemptError `usage`. */
export function checkServicesOptions(options: Partial<ServicesOptions> | undefined): void {
  for (const [field, what] of [
    ['cwd', 'the working folder of the turn'],
    ['sessionFile', 'the session file, which need not exist'],
  ] as const) {
    const value: unknown = options?.[field];
    if (typeof value !== 'string' || !path.isAbsolute(value)) {
      throw refused(field, `the absolute path of ${what}`, value === undefined);
    }
  }
  const env: unknown = options?.env;
  if (typeof env !== 'object' || env === null)
    throw refused('env', 'an environment, process.env say', env === undefined);
}

function refused(field: string, needed: string, missing: boolean): AttemptError {
  const problem = missing ? 'is missing' : 'is wrong';
  return new AttemptError('usage', `createServices: ${field} ${problem}: give it ${needed}`, { data: { field } });
}
