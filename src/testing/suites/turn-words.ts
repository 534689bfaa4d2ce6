import type { Words } from '../paths/suite.ts';

/** How each event from outside is called while the turn runs. */
const EVENTS: Readonly<Record<string, string>> = {
  'COMPLETED completed': 'the turn completes',
  'COMPLETED interrupted': 'the turn is interrupted',
  'COMPLETED failed': 'the turn fails',
  'COMPLETED failed: context_window_exceeded': 'the context overflows',
  'COMPLETED failed: usage_limit_exceeded': 'the usage limit is reached',
  EXITED: 'the app-server exits',
  EFFECT: 'a tool acts',
  'INTERRUPT abort': 'abort',
  'INTERRUPT deadline': 'deadline',
  'INTERRUPT yield': 'yield',
};

/** What is added to it while turn/start is not answered, and when the turn is over. */
const WHEN: Readonly<Record<string, string>> = { requesting: ' before the start', draining: ' too late' };

const events = Object.entries(EVENTS).flatMap(([event, text]) => [
  [event, text],
  [`${event} again`, `${text} again`],
  ...Object.entries(WHEN).flatMap(([state, when]) => [
    [`${event} in ${state}`, `${text}${when}`],
    [`${event} again in ${state}`, `${text} again${when}`],
  ]),
]);

export const turnWords: Words = {
  says: {
    ...Object.fromEntries(events),
    'error request: overflow': 'turn/start is refused as an overflow',
    'error request: other': 'turn/start is refused',
    'after requestBudget in requesting': 'turn/start is not answered',
    'error interrupt': 'the interrupt is refused',
    'after requestBudget in interrupting': 'the turn does not stop',
    'error drain': 'draining fails',
    'after drainBudget': 'draining ran out of time',
  },
  asides: {
    'done request': 'turn/start is answered',
    'done interrupt': 'the interrupt is accepted',
  },
};
