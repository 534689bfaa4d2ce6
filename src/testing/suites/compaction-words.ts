import type { Words } from '../paths/suite.ts';

const reasons = ['abort', 'deadline'].flatMap((why) => [
  [`INTERRUPT ${why} in engine-compacting`, `${why} while the engine compacts`],
  [`INTERRUPT ${why} in native-running`, `${why} while Codex compacts`],
  [`INTERRUPT ${why} in interrupting`, `${why} during the interrupt`],
  [`INTERRUPT ${why} again in interrupting`, `${why} again`],
]);

export const compactionWords: Words = {
  says: {
    ...Object.fromEntries(reasons),
    'done compactEngine: compacted': 'the engine compacts',
    'done compactEngine: unchanged': 'the engine has nothing to compact',
    'error compactEngine': 'the engine cannot compact',
    'done compactNative: compacted': 'Codex compacts',
    'done compactNative: unchanged': 'Codex has nothing to compact',
    'error compactNative': 'Codex cannot compact',
    'error interruptNative': 'the interrupt is refused',
  },
  asides: { 'done interruptNative': 'the interrupt is accepted' },
  outcomes: {
    engine: 'compacted by the engine',
    native: 'compacted by Codex',
    nothing: 'nothing compacted',
  },
};
