import { refusal } from '../controlled/codex.ts';
import { gate } from '../controlled/script.ts';
import type { ChildSteps } from './child.ts';
import { BOUND_THREAD } from './scene.ts';
import { createStandIn } from './stand-in.ts';

/** The steps of the compaction machine, as the engine and the app-server bring them about. */
export const compactionSteps: ChildSteps = (scene) => {
  const { script } = scene.controlled;
  const [engine, native, interrupt] = [gate(), gate(), gate()];
  const notify = (method: string, params: object): void =>
    scene.client.notify(method, { threadId: BOUND_THREAD, ...params });
  const turn = { id: 'compaction-1', status: 'completed', items: [] };
  const started = (): void => notify('turn/started', { turn: { ...turn, status: 'inProgress' } });
  // The real work knows only that the thread was compacted, or a reason why not.
  const standIn = createStandIn();
  const isUnchanged = scene.path.steps.some(({ label }) => label === 'done compactNative: unchanged');
  return {
    held: isUnchanged ? { compactNative: standIn.logic } : {},
    prepare() {
      script.plan('engine.compact', [engine.step]);
      script.plan('codex.thread/compact/start', [native.step]);
      script.plan('codex.turn/interrupt', [interrupt.step]);
    },
    take({ label, event }) {
      switch (label) {
        case 'done compactEngine: compacted':
          return engine.answer({ ok: true, compacted: true });
        case 'done compactEngine: unchanged':
          return engine.answer({ ok: true, compacted: false });
        case 'error compactEngine':
          return engine.answer({ ok: false, compacted: false, reason: 'not now' });
        case 'done compactNative: compacted':
          native.answer({});
          setImmediate(() => {
            started();
            notify('item/completed', { turnId: turn.id, item: { type: 'contextCompaction', id: 'item' } });
            notify('turn/completed', { turn });
          });
          return;
        case 'done compactNative: unchanged':
          scene.madeUp();
          return standIn.end(event);
        case 'error compactNative':
          return native.fail(refusal('cannot compact now'));
        case 'done interruptNative':
          interrupt.answer({});
          setImmediate(() => notify('turn/completed', { turn: { ...turn, status: 'interrupted' } }));
          return;
        case 'error interruptNative':
          return interrupt.fail(refusal('no active turn to interrupt'));
        case 'INTERRUPT abort':
        case 'INTERRUPT deadline':
          scene.stop ??= label === 'INTERRUPT abort' ? 'abort' : 'deadline';
          return scene.send(event);
        default:
          throw new Error(`no play for ${label}`);
      }
    },
  };
};
