import path from 'node:path';
import { AttemptError } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import type { SessionStore, TranscriptEntry } from '../ports.ts';
import { REALMS } from '../services.ts';
import { systemClock } from '../system-clock.ts';
import { nodeSessionFs, statOrNull } from '../transcript/fs.ts';
import type { AgentMessage } from '../transcript/messages.ts';
import { openSessionStore } from '../transcript/store.ts';
import { SHOW_FLAGS } from './command-flags.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { parseFlags, usageError } from './flags.ts';
import { type CliIo, writeOut } from './io.ts';
import { shownOn } from './terminal.ts';

/** Characters of a tool result that are shown; all of it is in `--json`. */
const RESULT_EXCERPT = 200;

/** `codex-attempt show`: the conversation of a session and what it keeps beside it. Takes no lock, writes nothing. */
export async function show(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, SHOW_FLAGS, 'show');
  if (words[0] !== undefined) throw usageError(`unexpected argument ${JSON.stringify(words[0])}`, 'show');
  const sessionFile = await existingSession(io, flags.session, 'show');
  const [live, rehearsal] = [storeOf(sessionFile, REALMS.live), storeOf(sessionFile, REALMS.rehearsal)];
  const { entries } = await live.transcript.read(new AbortController().signal);
  const state = {
    bindings: { live: await live.bindings.read(), rehearsal: await rehearsal.bindings.read() },
    journal: await live.journal.read(),
    outbox: await live.outbox.list(),
  };
  if (flags.json === true) {
    await writeOut(io.stdout, `${JSON.stringify({ type: 'session', sessionFile, entries, ...state })}\n`);
    return EXIT.ok;
  }
  const threads = [...(state.bindings.live?.threads ?? []), ...(state.bindings.rehearsal?.threads ?? [])];
  const lines = [
    ...entries.flatMap((entry) => [...entryLines(entry), '']),
    `session: ${sessionFile}, ${entries.length} message(s)`,
    `threads: ${threads.length === 0 ? 'none' : threads.map((thread) => thread.threadId).join(', ')}`,
    `open turn: ${state.journal === null ? 'none' : `attempt ${state.journal.attemptId}`}`,
    `turns that the engine has not taken yet: ${state.outbox.length}`,
  ];
  await writeOut(io.stdout, shownOn(io.stdout, `${lines.join('\n')}\n`));
  return EXIT.ok;
}

/** The absolute path of a session that is there. Rejects with AttemptError `usage`, `session_not_found`. */
export async function existingSession(io: CliIo, given: string | undefined, command: string): Promise<string> {
  if (given === undefined) throw usageError('--session is needed', command);
  const sessionFile = path.resolve(io.cwd, given);
  // Any other trouble with the path is named when the session is read.
  const isAbsent = await statOrNull(nodeSessionFs, sessionFile).then(
    (facts) => facts === null,
    () => false,
  );
  if (isAbsent) {
    throw new AttemptError('session_not_found', `there is no session ${sessionFile}`, { data: { path: sessionFile } });
  }
  return sessionFile;
}

function storeOf(sessionFile: string, realm: string): SessionStore {
  return openSessionStore({ sessionFile, realm, cwd: path.dirname(sessionFile), clock: systemClock });
}

function entryLines({ message }: TranscriptEntry): string[] {
  const text = textOf(message);
  switch (message.role) {
    case 'user':
      return ['[user]', text];
    case 'assistant': {
      const calls = message.content.filter((part) => part.type === 'toolCall').map((call) => `→ ${call.name}`);
      const mark = message.stopReason === 'stop' ? '' : ` (${message.stopReason})`;
      return [`[assistant${mark}]`, ...(text === '' ? [] : [text]), ...calls];
    }
    case 'toolResult': {
      const short = text.length > RESULT_EXCERPT ? `${text.slice(0, RESULT_EXCERPT)}…` : text;
      return [`[${message.toolName}${message.isError ? ', failed' : ''}]`, redact(short)];
    }
    default:
      return [`[${message.role}]`, ...(text === '' ? [] : [text])];
  }
}

function textOf(message: AgentMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) =>
      isPart(part) ? (part.type === 'text' ? part.text : part.type === 'image' ? '(image)' : '') : '',
    )
    .filter((text) => text !== '')
    .join('\n');
}

function isPart(part: unknown): part is { type: string; text: string } {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
}
