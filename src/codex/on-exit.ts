import type { CodexClient, ProcessExit } from '../ports.ts';

/**
 * Tells `listener` when the process is gone, until the returned function is called. A process outlives many attempts:
 * what the listener holds must not be kept by the promise, so only a cell that is emptied is.
 */
export function onExit(client: Pick<CodexClient, 'exited'>, listener: (exit: ProcessExit) => void): () => void {
  const cell: { listener: typeof listener | null } = { listener };
  void client.exited.then((exit) => cell.listener?.(exit));
  return () => {
    cell.listener = null;
  };
}
