import type { CodexClient } from '../ports.ts';
import type { AttemptRecord } from './record.ts';

/**
 * The app-server for this attempt: the present process or a fresh one (see `AppServer.connect` for the errors), with
 * every request of the attempt in its trace.
 */
export async function connectAppServer(record: AttemptRecord, signal: AbortSignal): Promise<CodexClient> {
  const client = tracedClient(record, await record.services.appServer.connect(signal));
  record.slots.client = client;
  return client;
}

function tracedClient(record: AttemptRecord, client: CodexClient): CodexClient {
  const { clock, trace } = record.services;
  return {
    version: client.version,
    codexHome: client.codexHome,
    exited: client.exited,
    onNotification: (listener) => client.onNotification(listener),
    onServerRequest: (handler) => client.onServerRequest(handler),
    close: () => client.close(),
    retire: () => client.retire(),
    async request(method, params, options) {
      const from = clock.now();
      let ok = false;
      try {
        const result = await client.request(method, params, options);
        ok = true;
        return result;
      } finally {
        trace.emit({ type: 'codex.request', method, durationMs: clock.now() - from, ok });
      }
    },
  };
}
