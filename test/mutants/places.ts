import { actorOf } from '../../src/testing/paths/generate.ts';
import type { Config } from '../../src/testing/paths/mutate.ts';
import { everyState, isConfig, listOf, type State, type Transition, transitions } from './config.ts';

/** What makes the transitions of a place happen. */
export type Cause = 'error' | 'abort' | 'timeout' | 'always' | 'event';

/** Where a list of transitions is written: one event of one state. */
export interface Place {
  state: State;
  /** `on ABORT`, `done open`, `error open`, `after storeBudget`, `always`. */
  where: string;
  cause: Cause;
  list: readonly Transition[];
  /** Writes another list; an empty one leaves nothing. */
  replace(list: readonly Transition[]): void;
}

const ABORTS = new Set(['ABORT', 'INTERRUPT']);

function ofEvent(event: string): Pick<Place, 'where' | 'cause'> {
  const actor = actorOf(event);
  if (actor === null) return { where: `on ${event}`, cause: ABORTS.has(event) ? 'abort' : 'event' };
  const isError = event.startsWith('xstate.error.');
  return { where: `${isError ? 'error' : 'done'} ${actor}`, cause: isError ? 'error' : 'event' };
}

/** All places of a normalised configuration, in the order of the file. What they change is this configuration. */
export function placesOf(root: State): Place[] {
  return everyState(root).flatMap((state): Place[] => {
    const place = (holder: Config, key: string, how: Pick<Place, 'where' | 'cause'>): Place[] =>
      holder[key] === undefined
        ? []
        : [
            {
              state,
              ...how,
              list: transitions(holder[key]),
              replace(list) {
                if (list.length === 0) delete holder[key];
                else holder[key] = list;
              },
            },
          ];
    const { on, after, invoke } = state.config;
    const events = isConfig(on) ? on : {};
    const delays = isConfig(after) ? after : {};
    return [
      ...Object.keys(events).flatMap((event) => place(events, event, ofEvent(event))),
      ...listOf(invoke)
        .filter(isConfig)
        .flatMap((one) => [
          ...place(one, 'onDone', { where: `done ${one['id']}`, cause: 'event' }),
          ...place(one, 'onError', { where: `error ${one['id']}`, cause: 'error' }),
        ]),
      ...Object.keys(delays).flatMap((delay) => place(delays, delay, { where: `after ${delay}`, cause: 'timeout' })),
      ...place(state.config, 'always', { where: 'always', cause: 'always' }),
    ];
  });
}

/** The delay of a place that is a timeout. */
export const delayOfPlace = ({ where }: Place): string => where.slice('after '.length);
