// A program that uses the client, to see what becomes of the app-server when the program ends.
// Arguments: the codex to run, its CODEX_HOME, and `close` or `stay`.
import { createCodexAppServer } from '../../../src/codex/client.ts';
import { realClock } from './clock.ts';
import { MemoryLogger } from './logger.ts';

const [command = '', codexHome = '', then = ''] = process.argv.slice(2);
const server = createCodexAppServer({
  command,
  codexHome,
  cwd: codexHome,
  env: process.env,
  clientInfo: { name: 'host', title: null, version: '1.0.0' },
  clock: realClock,
  logger: new MemoryLogger(),
});
const client = await server.connect(new AbortController().signal);
process.stdout.write(`ready ${client.version}\n`);
if (then === 'close') await server.close();
