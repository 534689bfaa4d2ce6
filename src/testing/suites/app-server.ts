import { type AppServerContext, appServerMachine } from '../../../machines/app-server.ts';
import { done, failed, type MachineSuite, outside, plain } from '../paths/suite.ts';
import { appServerWords } from './app-server-words.ts';

export const appServerSuite: MachineSuite = {
  name: 'app-server',
  machine: appServerMachine,
  inputs: [{ group: '', label: 'any', input: { processId: 'p', budgets: { start: 10_000, close: 1_000 } } }],
  outside: [outside({ type: 'EXITED' }), outside({ type: 'STOP' }), outside({ type: 'RETIRE' })],
  answers: {
    handshake: { done: [done('handshake')], error: [failed('handshake', '', 'app_server_too_old')] },
    endInput: plain('endInput'),
    terminate: plain('terminate'),
    kill: plain('kill'),
  },
  delays: { startBudget: 'start', closeGrace: 'close' },
  facts: (state, context) => {
    const { fault } = context as AppServerContext;
    return state.startsWith('draining') && fault !== null ? [`fault ${fault.code}`] : [];
  },
  effect: (before, after) => {
    const [old, now] = [before as AppServerContext, after as AppServerContext];
    return old.fault === now.fault ? [] : [`fault=${now.fault?.code}`];
  },
  words: appServerWords,
};
