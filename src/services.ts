/** The services of an attempt on this machine: the codex app-server, a session file, and the offline model if asked. */

import type { AttemptParams, AttemptServices } from './attempt/types.ts';
import { checkServicesOptions } from './check-services.ts';
import { withAccount } from './codex/account.ts';
import { type CodexAppServerOptions, createCodexAppServer } from './codex/client.ts';
import { maintenanceLane } from './engine/background.ts';
import { trackCompletions } from './engine/in-flight.ts';
import { redact } from './observe/redact.ts';
import { silentLogger } from './observe/silent.ts';
import { PACKAGE_NAME, PACKAGE_VERSION } from './package-info.ts';
import type { AppServer, CodexClient } from './ports.ts';
import {
  REHEARSAL_MODEL,
  REHEARSAL_PROVIDER,
  type RehearsalModelOptions,
  rehearsalSetup,
  startRehearsalModel,
} from './rehearsal/index.ts';
import { systemClock } from './system-clock.ts';
import { realSessionFile } from './transcript/real-path.ts';
import { REHEARSAL_REALM, sidePaths } from './transcript/side-folder.ts';
import { openSessionStore } from './transcript/store.ts';

/** Keys for a Codex that nobody has logged in to; see `withAccount` for their order. */
export interface ApiKeys {
  codexApiKey?: string;
  openaiApiKey?: string;
}

export interface ServicesOptions extends Omit<AttemptServices, 'appServer' | 'session'> {
  /** Working folder of the turn; absolute. */
  cwd: string;
  /** Path of the session file; absolute. It need not exist. */
  sessionFile: string;
  /** The caller's environment; the app-server gets what it needs of it and nothing else. */
  env: CodexAppServerOptions['env'];
  /** Another codex binary: a path, or a name in PATH. Default: the one of the dependency `@openai/codex`. */
  codexCommand?: string;
  /** CODEX_HOME; must exist. Default: as in `env`. Not used by a rehearsal, which has its own. */
  codexHome?: string;
  /** Default: none, only a stored login counts. */
  keys?: ApiKeys;
  /** The offline model answers in place of a real one (design 7). Default: no. */
  rehearsal?: Pick<RehearsalModelOptions, 'script' | 'recordTo'>;
}

/** What `createServices` opened. */
export interface OpenedServices {
  services: AttemptServices;
  /** What the attempt has to be told about these services. */
  params: Required<Pick<AttemptParams, 'realm' | 'provider'>> & Pick<AttemptParams, 'model'>;
  /**
   * Waits for what the engine does after an attempt: the session's background maintenance, then its own completions
   * (`services.completion`), until none has been under way for 50 ms. False when `timeoutMs` passed first; what was
   * waited for goes on then. Called before `close`, and before an engine is let go.
   */
  quiesce(options: { timeoutMs: number }): Promise<boolean>;
  /** Ends the app-server and everything that was opened here. May be called twice. */
  close(): Promise<void>;
  /** Ends the app-server at once, for a caller that is about to exit. */
  kill(): void;
}

/** Separates the threads of real runs from rehearsed ones. */
export const REALMS = { live: 'live', rehearsal: REHEARSAL_REALM } as const;

const CLIENT_INFO = { name: PACKAGE_NAME, title: null, version: PACKAGE_VERSION };

/**
 * Opens the services; nothing is written and no process started before the attempt asks. Rejects with AttemptError
 * `usage` that names the option when one is missing or wrong, and when `rehearsal.recordTo` cannot be written;
 * `session_unreadable` when links of the session path go in a circle. `services.appServer.connect` rejects with `codex_*`.
 */
export async function createServices(options: ServicesOptions): Promise<OpenedServices> {
  checkServicesOptions(options);
  const { cwd, sessionFile, env, codexCommand, codexHome, keys, rehearsal, ...given } = options;
  const logger = given.logger ?? silentLogger;
  const clock = given.clock ?? systemClock;
  const common: CodexAppServerOptions = {
    cwd,
    env,
    clientInfo: CLIENT_INFO,
    logger,
    clock,
    redact,
    ...(codexCommand === undefined ? {} : { command: codexCommand }),
  };
  const realm = rehearsal === undefined ? REALMS.live : REALMS.rehearsal;
  const source =
    rehearsal === undefined
      ? liveSource({ ...common, ...(codexHome === undefined ? {} : { codexHome }) }, keys ?? {})
      : await rehearsedSource(common, sidePaths(realSessionFile(sessionFile), realm).folder, rehearsal);
  const session = openSessionStore({ sessionFile, realm, cwd, clock, logger });
  const inFlight = trackCompletions(given.completion);
  let client: CodexClient | null = null;
  const appServer: AppServer = {
    async connect(signal) {
      client = await source.appServer.connect(signal);
      return client;
    },
    close: () => source.appServer.close(),
  };
  return {
    services: {
      ...given,
      ...(inFlight.complete === undefined ? {} : { completion: inFlight.complete }),
      logger,
      clock,
      appServer,
      session,
    },
    params: { realm, ...source.params },
    async quiesce({ timeoutMs }) {
      const until = clock.now() + timeoutMs;
      if (!(await maintenanceLane(session.transcript.sessionFile).idle(timeoutMs, clock))) return false;
      return await inFlight.quiesce({ timeoutMs: Math.max(0, until - clock.now()), clock });
    },
    async close() {
      await appServer.close();
      await source.close();
      await session.transcript.close();
    },
    kill() {
      void client?.retire();
    },
  };
}

/** Where the app-server comes from, and what else has to be closed after it. */
interface Source {
  appServer: AppServer;
  params: { provider: string; model?: string };
  close(): Promise<void>;
}

function liveSource(common: CodexAppServerOptions, keys: ApiKeys): Source {
  const start = (configOverrides: Readonly<Record<string, string>>): AppServer =>
    createCodexAppServer({ ...common, configOverrides });
  return { appServer: withAccount({ ...keys, start }), params: { provider: 'openai' }, close: async () => undefined };
}

/** The home of a rehearsal is made at the first `connect`, when the attempt has taken the session. */
async function rehearsedSource(
  common: CodexAppServerOptions,
  sideFolder: string,
  rehearsal: Pick<RehearsalModelOptions, 'script' | 'recordTo'>,
): Promise<Source> {
  const model = await startRehearsalModel({ ...rehearsal, clock: common.clock });
  let server: AppServer | null = null;
  return {
    params: { provider: REHEARSAL_PROVIDER, model: REHEARSAL_MODEL },
    appServer: {
      async connect(signal) {
        if (server === null) {
          const { codexHome, configOverrides, env } = await rehearsalSetup({ sideFolder, baseUrl: model.baseUrl });
          server ??= createCodexAppServer({ ...common, codexHome, configOverrides, extraEnv: env });
        }
        return await server.connect(signal);
      },
      async close() {
        await server?.close();
      },
    },
    close: () => model.close(),
  };
}
