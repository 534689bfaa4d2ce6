import { registerResolveHooks } from './resolve-hooks.ts';
import { createEngineSdk, type EngineSdk, SDK_KEY, type TranscriptReader } from './sdk.ts';

export type { TranscriptReader, VisibleTranscriptEntry } from './sdk.ts';

/**
 * Serves the imports of `openclaw/plugin-sdk` that engines make, where OpenClaw is not installed beside them. Must run
 * before an engine is loaded, because engines keep a failed import. May be called any number of times; the bridge is
 * installed once per process and stays.
 */
export function installSdkBridge(): EngineSdk {
  const key = Symbol.for(SDK_KEY);
  const present: unknown = Reflect.get(globalThis, key);
  if (isEngineSdk(present)) return present;
  const sdk = createEngineSdk();
  Reflect.set(globalThis, key, sdk);
  registerResolveHooks(sdk);
  return sdk;
}

/**
 * Lets engines read a session of this process through the SDK. The reader must apply the fence of the attempt by
 * itself. Returns the way to take it back; a later reader of the same session takes its place.
 */
export function setTranscriptReader(
  session: { sessionId: string; sessionKey: string },
  reader: TranscriptReader,
): () => void {
  const { readers } = installSdkBridge();
  const names = [session.sessionId, session.sessionKey];
  for (const name of names) readers.set(name, reader);
  return () => {
    for (const name of names) if (readers.get(name) === reader) readers.delete(name);
  };
}

function isEngineSdk(value: unknown): value is EngineSdk {
  return typeof value === 'object' && value !== null && Reflect.get(value, 'readers') instanceof Map;
}
