import type { TurnEnd } from '../codex/events.ts';
import type { AttemptRecord } from './record.ts';

/** How the rows shall mark the turn's end. */
export function endOf(record: AttemptRecord): TurnEnd {
  const { outcome } = record.machine();
  switch (outcome) {
    case 'completed':
    case 'yielded':
      return outcome;
    case 'aborted':
      return 'interrupted';
    case 'failed':
    case null:
      return 'failed';
  }
}
