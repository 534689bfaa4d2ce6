// A process of its own that runs one attempt, to be killed in the middle of it. It uses the built package, which starts
// at once (`npm test` builds first). Argument: JSON with `launch` (of the app-server), `sessionFile`, `cwd` and `prompt`.
import {
  createCodexAppServer,
  openSessionStore,
  redact,
  runAttempt,
  silentLogger,
  systemClock,
} from '../../dist/src/index.js';

const { launch, sessionFile, cwd, prompt } = JSON.parse(process.argv[2] ?? '');
const appServer = createCodexAppServer({
  ...launch,
  env: { ...process.env, HOME: launch.cwd },
  logger: silentLogger,
  clock: systemClock,
  redact,
});
const session = openSessionStore({ sessionFile, realm: 'rehearsal', cwd, clock: systemClock });
await runAttempt({ prompt, cwd, provider: 'rehearsal', realm: 'rehearsal' }, { appServer, session }).result;
await appServer.close();
