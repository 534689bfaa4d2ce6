import { AttemptError, messageOf } from '../errors.ts';
import type { ContextEngine } from './contract.ts';
import { copyOf } from './copy-of.ts';
import { watchEventLoop } from './event-loop.ts';
import { filterHostParams } from './host-params.ts';

/** Milliseconds that a call may block the event loop before a warning names it. */
export const BLOCKING_WARNING_MS = 1000;

/** UTF-16 units of an engine's own error text that are shown: it may quote what it was given. */
const MAX_ERROR_CHARS = 500;

export type EngineMethod =
  | 'bootstrap'
  | 'assemble'
  | 'ingest'
  | 'ingestBatch'
  | 'afterTurn'
  | 'commitTurn'
  | 'compact'
  | 'maintain';

/** How every helper of this folder talks back: `warn` gets one redacted sentence. */
export interface EngineVoice {
  /** `answered`: what the warning says is also part of the helper's answer, so that nobody need hear it twice. */
  warn: (message: string, about?: { answered: boolean }) => void;
  /** Takes secrets out of an engine's text. Default: the text as it is. */
  redact?: ((text: string) => string) | undefined;
}

export interface EngineCall extends EngineVoice {
  engine: ContextEngine;
  method: EngineMethod;
  params: object;
  /** Handed to the engine as `abortSignal`. When it aborts, the call is given up, whatever the engine does. */
  signal?: AbortSignal | undefined;
}

/**
 * The one way in which this program calls an engine. The engine gets its own copy of everything that is data, so it
 * cannot change our record; functions, sets and signals arrive as such. Parameters are filtered by
 * `info.acceptedHostParams`. A call that blocks the event loop for more than a second is named in a warning.
 *
 * Rejects with AttemptError `engine_failed` (the engine threw; the text is redacted and the error itself is not kept)
 * or `aborted` (the signal). What a call that was given up throws later is warned about, not lost.
 */
export async function callEngine(call: EngineCall): Promise<unknown> {
  const { engine, method, signal } = call;
  const name = `context engine "${engine.info.id}"`;
  const implementation: unknown = engine[method];
  if (typeof implementation !== 'function') throw failed(call, `${name} has no ${method}()`);
  if (signal?.aborted === true) throw givenUp(call, name);
  const params = copyOf(filterHostParams(engine.info, { ...call.params, abortSignal: signal }));
  const watch = watchEventLoop();
  try {
    return await untilAborted(call, name, async () => Reflect.apply(implementation, engine, [params]));
  } finally {
    const blockedMs = watch.stop();
    if (blockedMs > BLOCKING_WARNING_MS) {
      call.warn(`${name} blocked the event loop for ${Math.round(blockedMs)} ms in ${method}()`);
    }
  }
}

function untilAborted(call: EngineCall, name: string, run: () => Promise<unknown>): Promise<unknown> {
  const { signal, method } = call;
  return new Promise((resolve, reject) => {
    let open = true;
    const onAbort = (): void => {
      open = false;
      reject(givenUp(call, name));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    run().then(
      (answer) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(answer);
      },
      (error: unknown) => {
        signal?.removeEventListener('abort', onAbort);
        const text = `${name} ${method}() failed: ${redacted(call, messageOf(error)).slice(0, MAX_ERROR_CHARS)}`;
        if (open) reject(failed(call, text));
        else call.warn(`${text} (after it was given up)`);
      },
    );
  });
}

function failed(call: EngineCall, message: string): AttemptError {
  return new AttemptError('engine_failed', message, { data: { engineId: call.engine.info.id, method: call.method } });
}

function givenUp(call: EngineCall, name: string): AttemptError {
  return new AttemptError('aborted', `${name} ${call.method}() was given up`, {
    data: { engineId: call.engine.info.id, method: call.method },
  });
}

export function redacted(voice: EngineVoice, text: string): string {
  return voice.redact === undefined ? text : voice.redact(text);
}
