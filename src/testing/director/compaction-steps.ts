import { refusal } from '../controlled/codex.ts';
import { gate } from '../controlled/script.ts';
import { DUE } from '../paths/execute.ts';
import { delayOf } from '../paths/suite.ts';
import type { ChildSteps } from './child.ts';
import { nativeNotices } from './native-notices.ts';
import { BOUND_THREAD } from './scene.ts';
import { createStandIn } from './stand-in.ts';

/** The steps of the compaction machine, as the engine and the app-server bring them about. */
export const compactionSteps: ChildSteps = (scene) => {
  const { script, clock } = scene.controlled;
  const [engine, maintenance, native, interrupt] = [gate(), gate(), gate(), gate()];
  const codex = nativeNotices((method, params) => scene.client.notify(method, params), BOUND_THREAD);
  // The real work waits for the end of the compaction as long as it is let.
  const standIn = createStandIn();
  const breaks = scene.path.steps.some(({ label }) => label === 'error interruptNative');
  return {
    held: breaks ? { interruptNative: standIn.logic } : {},
    prepare() {
      script.plan('engine.compact', [engine.step]);
      script.plan('engine.maintain', [maintenance.step]);
      script.plan('codex.thread/compact/start', [native.step]);
      script.plan('codex.turn/interrupt', [interrupt.step]);
    },
    take({ label, event }) {
      if (delayOf({ label }) !== null) return clock.increment(DUE);
      switch (label) {
        case 'done compactEngine: compacted':
          return engine.answer({ ok: true, compacted: true });
        case 'done compactEngine: unchanged':
          return engine.answer({ ok: true, compacted: false });
        case 'error compactEngine':
          return engine.answer({ ok: false, compacted: false, reason: 'not now' });
        case 'done maintainEngine':
          return maintenance.pass();
        case 'error maintainEngine':
          return maintenance.fail('it broke');
        case 'done requestNative':
          return native.answer({});
        case 'error requestNative':
          return native.fail(refusal('cannot compact now'));
        case 'done awaitNative':
          return codex.compacts();
        case 'error awaitNative':
          return codex.endsWithoutItem();
        case 'done interruptNative: stopped':
          interrupt.answer({});
          codex.begins();
          return void setImmediate(codex.isInterrupted);
        case 'done interruptNative: too late':
          interrupt.fail(refusal('no active turn to interrupt'));
          codex.begins();
          return void setImmediate(codex.compacts);
        case 'error interruptNative':
          scene.madeUp();
          return standIn.end(event);
        case 'INTERRUPT':
          scene.stop = 'abort';
          return scene.send(event);
        default:
          throw new Error(`no play for ${label}`);
      }
    },
  };
};
