import type { AppServer, CodexClient } from '../../ports.ts';
import type { ControlledScript } from './script.ts';

/**
 * An app-server whose every request is steered by the script, and otherwise made of `inner`; calls are `codex.connect`,
 * `codex.<method>`, `codex.close` and `codex.retire`.
 */
export function scriptedAppServer(script: ControlledScript, inner: AppServer): AppServer {
  return {
    connect: (signal) =>
      script.run('codex.connect', null, async () => scriptedClient(script, await inner.connect(signal)), signal),
    close: () => inner.close(),
  };
}

function scriptedClient(script: ControlledScript, inner: CodexClient): CodexClient {
  return {
    version: inner.version,
    codexHome: inner.codexHome,
    exited: inner.exited,
    onNotification: (listener) => inner.onNotification(listener),
    onServerRequest: (handler) => inner.onServerRequest(handler),
    request: (method, params, options) =>
      script.run(`codex.${method}`, params, () => inner.request(method, params, options), options?.signal),
    close: () => script.run('codex.close', null, () => inner.close()),
    retire: () => script.run('codex.retire', null, () => inner.retire()),
  };
}
