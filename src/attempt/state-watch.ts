import type { ActorRefFrom, StateValue } from 'xstate';
import type { attemptMachine } from '../../machines/index.ts';
import { redact } from '../observe/redact.ts';
import type { AttemptRecord } from './record.ts';

/** The way through the machine so far. */
export interface StateWatch {
  /** Top-level states, one entry per visit. */
  readonly visited: string[];
  /** Degradations of the machine that were told already. */
  stop(): void;
}

/**
 * Follows the machine: tells listeners and the trace each state that is entered and left, with its time, and each step
 * that the machine wrote down as degraded.
 */
export function watchStates(actor: ActorRefFrom<typeof attemptMachine>, record: AttemptRecord): StateWatch {
  const { trace, clock, logger } = record.services;
  const visited: string[] = [];
  const entered = new Map<string, number>();
  let path: string[] = [];
  let told = 0;

  const leave = (nodes: readonly string[]): void => {
    for (const node of nodes.toReversed()) {
      trace.emit({ type: 'state.exit', state: node, durationMs: clock.now() - (entered.get(node) ?? clock.now()) });
      entered.delete(node);
    }
  };

  const subscription = actor.subscribe((snapshot) => {
    for (const { message, ...where } of snapshot.context.degraded.slice(told)) {
      const step = { ...where, message: redact(message) };
      logger.warn('attempt step degraded', { attemptId: record.params.attemptId, state: step.state, code: step.code });
      trace.emit({ type: 'degraded', state: step.state, code: step.code, reason: step.message });
      record.emit({ type: 'attempt.degraded', ...step });
    }
    told = snapshot.context.degraded.length;

    const now = nodesOf(snapshot.value);
    let shared = 0;
    while (shared < path.length && shared < now.length && path[shared] === now[shared]) shared += 1;
    if (shared === path.length && shared === now.length) return;
    leave(path.slice(shared));
    for (const node of now.slice(shared)) {
      entered.set(node, clock.now());
      trace.emit({ type: 'state.enter', state: node });
    }
    const top = now[0];
    const leaf = now.at(-1);
    if (top !== undefined && leaf !== undefined) {
      if (shared === 0) visited.push(top);
      logger.debug('attempt state', { attemptId: record.params.attemptId, state: leaf });
      record.emit({ type: 'attempt.state', state: top, path: leaf });
    }
    path = now;
  });

  return {
    visited,
    stop() {
      subscription.unsubscribe();
      leave(path);
    },
  };
}

/** The active nodes from the top down, each as its full dotted path. */
function nodesOf(value: StateValue): string[] {
  const nodes: string[] = [];
  let rest: StateValue | undefined = value;
  let prefix = '';
  while (rest !== undefined) {
    const key: string | undefined = typeof rest === 'string' ? rest : Object.keys(rest)[0];
    if (key === undefined) return nodes;
    prefix = prefix === '' ? key : `${prefix}.${key}`;
    nodes.push(prefix);
    rest = typeof rest === 'string' ? undefined : rest[key];
  }
  return nodes;
}
