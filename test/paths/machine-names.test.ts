import { describe, expect, it } from 'vitest';
import { attemptMachine } from '../../machines/attempt.ts';
import { ATTEMPT_FINALS, ATTEMPT_STATES } from '../../machines/attempt-types.ts';
import { checkMachine, type MachineParts, partsOf } from '../../src/testing/paths/check-machine.ts';
import { at, type Config, editedConfig } from '../../src/testing/paths/mutate.ts';
import { suites } from '../../src/testing/suites/index.ts';

describe('the machines', () => {
  for (const { name, machine } of suites) {
    it(`${name} names only what exists, and describes every state`, () => {
      expect(checkMachine(partsOf(machine))).toEqual([]);
    });
  }

  it('attempt has the ten states of the specification and four finals, in this order', () => {
    const states = Object.entries(attemptMachine.config.states ?? {});
    const finals = states.filter(([, state]) => state.type === 'final').map(([name]) => name);
    const working = states.filter(([, state]) => state.type !== 'final').map(([name]) => name);
    expect(working).toEqual([
      'bootstrap',
      'assembling',
      'projecting',
      'hook-build',
      'thread-start',
      'turning',
      'mirroring',
      'finalizing',
      'maintaining',
      'compacting',
    ]);
    expect(finals).toEqual(['completed', 'yielded', 'aborted', 'failed']);
    expect([working, finals]).toEqual([[...ATTEMPT_STATES], [...ATTEMPT_FINALS]]);
  });

  it.each([
    ['turn', ['requesting', 'running', 'interrupting', 'draining', 'settled'], ['settled']],
    [
      'compaction',
      [
        'deciding',
        'engine-compacting',
        'engine-maintaining',
        'native-requested',
        'native-running',
        'interrupting',
        'settled',
      ],
      ['settled'],
    ],
    ['app-server', ['starting', 'ready', 'draining', 'stopped', 'crashed'], ['stopped', 'crashed']],
  ])('%s has these states and finals', (name, states, finals) => {
    const root = suites.find((suite) => suite.name === name)?.machine.root;
    const found = Object.values(root?.states ?? {});
    expect(found.map(({ key }) => key)).toEqual(states);
    expect(found.filter(({ type }) => type === 'final').map(({ key }) => key)).toEqual(finals);
  });
});

describe('the check finds', () => {
  const faultsAfter = (edit: (config: Config) => void, without: Partial<MachineParts['implementations']> = {}) => {
    const { config, implementations } = partsOf(attemptMachine);
    return checkMachine({ config: editedConfig(config, edit), implementations: { ...implementations, ...without } });
  };
  const planted: [string, (config: Config) => void, string[]][] = [
    [
      'an unknown sibling target',
      (config) => {
        at(config, 'states', 'assembling', 'invoke')['onDone'] = 'projection';
      },
      ['assembling invoke done: unknown target projection'],
    ],
    [
      'an unknown child target',
      (config) => {
        at(config, 'states', 'finalizing', 'invoke', 'onDone')['target'] = '.over';
      },
      ['finalizing invoke done: unknown target .over'],
    ],
    [
      'an unknown absolute target',
      (config) => {
        at(config, 'states', 'thread-start', 'states', 'resuming', 'invoke')['onDone'] = '#attempt.turned';
      },
      ['thread-start.resuming invoke done: unknown target #attempt.turned'],
    ],
    [
      'an unknown initial state',
      (config) => {
        at(config, 'states', 'bootstrap')['initial'] = 'closed';
      },
      ['bootstrap: unknown initial state closed'],
    ],
    [
      'an unknown delay',
      (config) => {
        at(config, 'states', 'maintaining')['after'] = { maintainBudgt: 'completed' };
      },
      ['maintaining after: unknown delay maintainBudgt'],
    ],
    [
      'an unknown guard',
      (config) => {
        at(config, 'states', 'mirroring', 'states', 'writing', 'always')['guard'] = 'abortAskd';
      },
      ['mirroring.writing always: unknown guard abortAskd'],
    ],
    [
      'an unknown action',
      (config) => {
        at(config, 'states', 'bootstrap', 'on', 'ABORT')['actions'] = ['endAborted', 'endAbortd'];
      },
      ['bootstrap on ABORT: unknown action endAbortd'],
    ],
    [
      'an unknown action on entry',
      (config) => {
        at(config, 'states', 'turning')['entry'] = 'begin';
      },
      ['turning entry or exit: unknown action begin'],
    ],
    [
      'an unknown actor',
      (config) => {
        at(config, 'states', 'mirroring', 'invoke')['src'] = 'mirrors';
      },
      ['mirroring invoke: unknown actor mirrors'],
    ],
    [
      'an automatic invoke id',
      (config) => {
        delete at(config, 'states', 'turning', 'invoke')['id'];
      },
      ['turning: automatic invoke id'],
    ],
    [
      'a guard without a name',
      (config) => {
        at(config, 'states', 'mirroring', 'states', 'writing', 'always')['guard'] = () => true;
      },
      ['mirroring.writing always: guard without a name'],
    ],
    [
      'a state without description',
      (config) => {
        delete at(config, 'states', 'bootstrap', 'states', 'leaving')['description'];
      },
      ['bootstrap.leaving: no description'],
    ],
    [
      'a state without specification numbers',
      (config) => {
        at(config, 'states', 'failed')['meta'] = { spec: [] };
      },
      ['failed: no meta.spec'],
    ],
    [
      'a wildcard event',
      (config) => {
        at(config, 'states', 'turning')['on'] = { '*': {}, 'turn.*': {} };
      },
      ['turning: wildcard event *', 'turning: wildcard event turn.*'],
    ],
  ];

  it.each(planted)('%s', (_, edit, faults) => {
    expect(faultsAfter(edit)).toEqual(faults);
  });

  it('every name that lost its implementation', () => {
    const names = (kind: keyof MachineParts['implementations'], one: string) => {
      const faults = faultsAfter(() => {}, { [kind]: {} });
      return new Set(faults.map((fault) => fault.split(`unknown ${one} `)[1]));
    };
    const { actors, actions, guards, delays } = attemptMachine.implementations;
    expect(names('actors', 'actor')).toEqual(new Set(Object.keys(actors)));
    expect(names('actions', 'action')).toEqual(new Set(Object.keys(actions)));
    expect(names('guards', 'guard')).toEqual(new Set(Object.keys(guards)));
    expect(names('delays', 'delay')).toEqual(new Set(Object.keys(delays)));
  });
});
