import { type AnyStateMachine, createMachine } from 'xstate';

/** A part of a machine's configuration: states, transitions, names. */
export type Config = { [key: string]: unknown };

/** A copy of what a configuration is made of; functions (context, inputs) stay the same. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, copy(child)]));
}

/** The part of a configuration that a path of keys leads to. Throws when there is none. */
export function at(config: Config, ...keys: readonly string[]): Config {
  const found = keys.reduce<unknown>((part, key) => (part as Config | undefined)?.[key], config);
  if (typeof found !== 'object' || found === null) throw new Error(`the configuration has no ${keys.join('.')}`);
  return found as Config;
}

/** A copy of the configuration, changed by `edit`. */
export function editedConfig(config: object, edit: (config: Config) => void): Config {
  const edited = copy(config) as Config;
  edit(edited);
  return edited;
}

/** The machine with its configuration changed by `edit`, which is given a copy. */
export const mutated = (machine: AnyStateMachine, edit: (config: Config) => void): AnyStateMachine =>
  createMachine(editedConfig(machine.config, edit), machine.implementations);
