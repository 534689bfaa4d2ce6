import type { Words } from '../paths/suite.ts';

export const compactionWords: Words = {
  says: {
    'INTERRUPT in engine-compacting': 'stopped while the engine compacts',
    'INTERRUPT in engine-maintaining': 'stopped while the engine maintains itself',
    'INTERRUPT in native-requested': 'stopped before Codex begins',
    'INTERRUPT in native-running': 'stopped while Codex compacts',
    'INTERRUPT in interrupting': 'stopped during the interrupt',
    'INTERRUPT again in interrupting': 'stopped again',
    'done compactEngine: compacted': 'the engine compacts',
    'done compactEngine: unchanged': 'the engine has nothing to compact',
    'error compactEngine': 'the engine cannot compact',
    'after compactBudget in engine-compacting': 'the engine ran out of time',
    'error maintainEngine': 'its maintenance fails',
    'after maintainBudget': 'its maintenance ran out of time',
    'error requestNative': 'Codex refuses',
    'after threadStartBudget': 'Codex does not answer',
    'done awaitNative': 'Codex compacts',
    'error awaitNative': 'Codex cannot compact',
    'after compactBudget in native-running': 'Codex ran out of time',
    'done interruptNative: too late': 'it was done before the interrupt',
    'error interruptNative': 'the interrupt fails',
    'after graceInterrupt': 'the interrupt is not answered',
  },
  asides: {
    'done maintainEngine': 'it maintains itself',
    'done requestNative': 'Codex begins',
    'done interruptNative: stopped': 'it is interrupted',
  },
  outcomes: {
    engine: 'compacted by the engine',
    native: 'compacted by Codex',
    nothing: 'nothing compacted',
  },
};
