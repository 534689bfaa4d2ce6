import type { AnyStateMachine } from 'xstate';
import type { Config } from '../../src/testing/paths/mutate.ts';
import type { MachineSuite } from '../../src/testing/paths/suite.ts';
import { type State, stateTree, type Transition } from './config.ts';
import { type Place, placesOf } from './places.ts';

export type Implementations = AnyStateMachine['implementations'];

/** What an edit may change: copies, made for it alone. */
export interface Parts {
  config: Config;
  implementations: Implementations;
}

/** One change of a machine. */
export interface Edit {
  kind: string;
  /** Where: `bootstrap.opening done open #1`. */
  place: string;
  /** What, in words: `guard journalOpen dropped`. */
  change: string;
  apply(parts: Parts): void;
}

/** The machine that edits are made for. `config` is its normalised configuration, to read only. */
export interface Subject {
  suite: MachineSuite;
  config: Config;
  root: State;
  places: readonly Place[];
}

export const subjectOf = (suite: MachineSuite, config: Config): Subject => {
  const root = stateTree(config);
  return { suite, config, root, places: placesOf(root) };
};

/** The same place in a copy of the configuration. */
export function placeIn(config: Config, index: number): Place {
  const place = placesOf(stateTree(config))[index];
  if (place === undefined) throw new Error(`the copy has no place ${index}`);
  return place;
}

/** `#2`, where there is more than one. */
export const ordinal = ({ list }: Place, index: number): string => (list.length === 1 ? '' : ` #${index + 1}`);

/** Puts another transition, or none, where one was. */
export function put({ list, replace }: Place, index: number, transition: Transition | null): void {
  replace([...list.slice(0, index), ...(transition === null ? [] : [transition]), ...list.slice(index + 1)]);
}

/** The neighbours of one of several, each once: the next and the previous, in a circle. */
export function neighbours<One>(all: readonly One[], one: One): One[] {
  const at = all.indexOf(one);
  const found = [all[(at + 1) % all.length], all[(at - 1 + all.length) % all.length]];
  return [...new Set(found)].filter((other): other is One => other !== undefined && other !== one);
}
