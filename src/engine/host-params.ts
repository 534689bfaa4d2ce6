import type { EngineInfo } from './contract.ts';

/**
 * Parameters that hosts added to the contract over time. An engine that validates its parameters strictly names those
 * it takes in `info.acceptedHostParams`. `isHeartbeat` is not one of them: it always reaches the engine, because a
 * heartbeat that is not marked is stored as a turn.
 */
export const HOST_ADDED_PARAMS = [
  'sessionKey',
  'prompt',
  'runtimeSettings',
  'sessionTarget',
  'runtimeContext',
  'abortSignal',
] as const;

const hostAdded: ReadonlySet<string> = new Set(HOST_ADDED_PARAMS);

/** A copy without the host-added parameters that the engine does not accept, and without undefined ones. */
export function filterHostParams(info: EngineInfo, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const accepted = info.acceptedHostParams;
  return Object.fromEntries(
    Object.entries(params).filter(
      ([name, value]) =>
        value !== undefined && (accepted === undefined || !hostAdded.has(name) || accepted.includes(name)),
    ),
  );
}

/** The one `sessionKey` convention of the tool bridge, the mirror and the engine: the key, else the id (spec L5). */
export function sessionKeyOf(session: { sessionId: string; sessionKey?: string | undefined }): string {
  const key = session.sessionKey?.trim();
  return key === undefined || key === '' ? session.sessionId : key;
}
