import type { Words } from '../paths/suite.ts';

/** When an event from outside comes. */
const WHEN: Readonly<Record<string, string>> = {
  starting: 'during the start',
  ready: 'while it is ready',
  'draining.closing': 'while its input closes',
  'draining.terminating': 'after SIGTERM',
  'draining.killing': 'after SIGKILL',
};

const events = Object.entries({ EXITED: 'it exits', STOP: 'stop', RETIRE: 'retire' }).flatMap(([event, text]) =>
  Object.entries(WHEN).flatMap(([state, when]) => [
    [`${event} in ${state}`, `${text} ${when}`],
    [`${event} again in ${state}`, `${text} again ${when}`],
  ]),
);

export const appServerWords: Words = {
  says: {
    ...Object.fromEntries(events),
    'error handshake': 'the handshake fails',
    'after startBudget': 'the start ran out of time',
    'error endInput': 'its input cannot be closed',
    'after closeGrace in draining.closing': 'SIGTERM',
    'error terminate': 'SIGTERM cannot be sent',
    'after closeGrace in draining.terminating': 'SIGKILL',
    'error kill': 'SIGKILL cannot be sent',
    'after closeGrace in draining.killing': 'it is given up',
  },
  asides: {
    'done endInput': 'its input is closed',
    'done terminate': 'SIGTERM is sent',
    'done kill': 'SIGKILL is sent',
  },
};
