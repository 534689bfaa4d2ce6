// A process of its own that runs one attempt, to be killed in the middle of it.
// Argument: JSON with `launch` (of the app-server), `sessionFile` and `prompt`.
import { runAttempt } from '../../src/attempt/run-attempt.ts';
import { systemClock } from '../../src/system-clock.ts';
import { openSessionStore } from '../../src/transcript/store.ts';
import { type RehearsedLaunch, rehearsedAppServer } from './rehearsed.ts';

export interface AttemptProcessArgument {
  launch: RehearsedLaunch;
  sessionFile: string;
  cwd: string;
  prompt: string;
}

const { launch, sessionFile, cwd, prompt } = JSON.parse(process.argv[2] ?? '') as AttemptProcessArgument;
const appServer = rehearsedAppServer(launch);
const session = openSessionStore({ sessionFile, realm: 'rehearsal', cwd, clock: systemClock });
await runAttempt({ prompt, cwd, provider: 'rehearsal', realm: 'rehearsal' }, { appServer, session }).result;
await appServer.close();
