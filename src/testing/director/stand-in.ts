import { type AnyActorLogic, type EventObject, fromPromise } from 'xstate';

/** An actor that does nothing until it is told how to end. */
export function createStandIn(): { logic: AnyActorLogic; end(event: EventObject): void } {
  let settle: { resolve(output: unknown): void; reject(error: unknown): void } | null = null;
  return {
    logic: fromPromise(
      () =>
        new Promise((resolve, reject) => {
          settle = { resolve, reject };
        }),
    ),
    end(event) {
      if (settle === null) throw new Error('the stand-in was not started');
      if ('error' in event) settle.reject(event.error);
      else settle.resolve('output' in event ? event.output : undefined);
    },
  };
}
