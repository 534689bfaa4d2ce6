import type { Logger } from '../ports.ts';

function nothing(): void {
  // A library says nothing unless it is given a logger.
}

/** The library's default logger: drops every line. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
