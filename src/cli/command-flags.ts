import { type Flags, HELP_FLAG } from './flags.ts';

/** The flags of `run`, in the order of its help. */
export const RUN_FLAGS = {
  session: { type: 'string', value: 'FILE', help: 'the session file (default: a new one in CODEX_ATTEMPT_HOME)' },
  engine: {
    type: 'string',
    value: 'PATH_OR_PACKAGE[#ID]',
    help: 'the context engine; `example` is the one that ships',
  },
  'engine-config': { type: 'string', value: 'JSON_OR_FILE', help: 'what the engine is configured with' },
  hooks: { type: 'string', value: 'PATH_OR_PACKAGE', multiple: true, help: 'a module of hooks; may be repeated' },
  tools: { type: 'string', value: 'PATH_OR_PACKAGE', multiple: true, help: 'a module of tools; may be repeated' },
  model: {
    type: 'string',
    value: 'ID',
    help: 'the model (default: what Codex is configured for); not for a rehearsal',
  },
  cwd: { type: 'string', value: 'FOLDER', help: 'working folder of the turn (default: the current one)' },
  sandbox: { type: 'string', value: 'MODE', help: 'read-only (default), workspace-write or danger-full-access' },
  'token-budget': { type: 'string', value: 'N', help: 'tokens that the engine may fill (default 128000)' },
  timeout: { type: 'string', value: 'SECONDS', help: 'end the turn after this time; s, m, h; 0: never (default 48h)' },
  rehearse: { type: 'boolean', help: 'an offline model answers: no account, no tokens' },
  'rehearse-script': { type: 'string', value: 'FILE', help: 'rehearse, with answers from a script' },
  'record-requests': { type: 'string', value: 'FILE', help: 'append each model request of a rehearsal as NDJSON' },
  json: { type: 'boolean', help: 'NDJSON events on stdout; the last line is attempt.settled' },
  'output-last-message': { type: 'string', value: 'FILE', short: 'o', help: 'write the final text to a file too' },
  trace: { type: 'string', value: 'FILE', help: 'write a trace of the states, without any text' },
  'trace-text': { type: 'boolean', help: 'keep prompt and transcript text in the trace' },
  'log-level': { type: 'string', value: 'LEVEL', help: 'log on stderr: debug, info, warn, error or silent (default)' },
  progress: { type: 'boolean', help: 'show each state as a line on stderr' },
  quiet: { type: 'boolean', short: 'q', help: 'nothing but errors on stderr' },
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `compact`. */
export const COMPACT_FLAGS = {
  session: { type: 'string', value: 'FILE', help: 'the session file' },
  instructions: {
    type: 'string',
    value: 'TEXT',
    help: 'what to keep or leave out; an engine that owns compaction gets it',
  },
  engine: RUN_FLAGS.engine,
  'engine-config': RUN_FLAGS['engine-config'],
  hooks: RUN_FLAGS.hooks,
  model: RUN_FLAGS.model,
  cwd: { ...RUN_FLAGS.cwd, help: 'working folder of the session (default: the current one)' },
  'token-budget': RUN_FLAGS['token-budget'],
  timeout: {
    type: 'string',
    value: 'SECONDS',
    help: "most time for the engine's compaction, and again for Codex's own; s, m, h; 0: no end (default 10m)",
  },
  rehearse: RUN_FLAGS.rehearse,
  'rehearse-script': RUN_FLAGS['rehearse-script'],
  'record-requests': RUN_FLAGS['record-requests'],
  json: { type: 'boolean', help: 'NDJSON events on stdout; the last line is compaction.settled' },
  trace: RUN_FLAGS.trace,
  'trace-text': RUN_FLAGS['trace-text'],
  'log-level': RUN_FLAGS['log-level'],
  progress: RUN_FLAGS.progress,
  quiet: RUN_FLAGS.quiet,
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `show`. */
export const SHOW_FLAGS = {
  session: { type: 'string', value: 'FILE', help: 'the session file' },
  json: { type: 'boolean', help: 'one line of JSON' },
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `reset`. */
export const RESET_FLAGS = {
  session: { type: 'string', value: 'FILE', help: 'the session file' },
  engine: { ...RUN_FLAGS.engine, help: 'the engine that is told that the session ended' },
  'engine-config': RUN_FLAGS['engine-config'],
  hooks: RUN_FLAGS.hooks,
  json: { type: 'boolean', help: 'one line of JSON' },
  'log-level': RUN_FLAGS['log-level'],
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `paths`. */
export const PATHS_FLAGS = {
  machine: { type: 'string', value: 'NAME', help: 'attempt, turn, compaction or app-server (default: all of them)' },
  format: { type: 'string', value: 'FORMAT', help: 'summary (default), json, markdown, mermaid or vitest' },
  coverage: {
    type: 'string',
    value: 'WHAT',
    help: 'pairs (default): every two steps in a row; edges: every step once, fewer paths',
  },
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `conform`. */
export const CONFORM_FLAGS = {
  'engine-config': RUN_FLAGS['engine-config'],
  timeout: { type: 'string', value: 'SECONDS', help: 'most time for one call of the engine; s, m, h (default 10s)' },
  limit: {
    type: 'string',
    value: 'SECONDS',
    help: 'begin no further path after this time; s, m, h; 0: never (default 2m)',
  },
  json: { type: 'boolean', help: 'one line of JSON' },
  ...HELP_FLAG,
} as const satisfies Flags;

/** The flags of `doctor`. */
export const DOCTOR_FLAGS = {
  engine: { ...RUN_FLAGS.engine, help: 'an engine to try to load' },
  'engine-config': RUN_FLAGS['engine-config'],
  json: { type: 'boolean', help: 'one line of JSON' },
  ...HELP_FLAG,
} as const satisfies Flags;
