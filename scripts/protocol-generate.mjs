// Writes src/codex/protocol/ (or the folder named by --out): the types of the app-server protocol that this package
// uses, as the pinned codex binary itself describes them, with everything they import. Run it after a change of the
// pinned version or of ROOTS: `npm run protocol:generate`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOTS = [
  'InitializeParams',
  'InitializeResponse',
  // threads
  'v2/ThreadStartParams',
  'v2/ThreadStartResponse',
  'v2/ThreadResumeParams',
  'v2/ThreadResumeResponse',
  'v2/ThreadReadParams',
  'v2/ThreadReadResponse',
  'v2/ThreadInjectItemsParams',
  'v2/ThreadInjectItemsResponse',
  'v2/ThreadCompactStartParams',
  'v2/ThreadCompactStartResponse',
  // turns
  'v2/TurnStartParams',
  'v2/TurnStartResponse',
  'v2/TurnInterruptParams',
  'v2/TurnInterruptResponse',
  'v2/TurnSteerParams',
  'v2/TurnSteerResponse',
  'v2/ThreadItem',
  'v2/Turn',
  'v2/UserInput',
  'v2/DynamicToolSpec',
  // notifications
  'v2/ItemStartedNotification',
  'v2/ItemCompletedNotification',
  'v2/AgentMessageDeltaNotification',
  'v2/ReasoningSummaryPartAddedNotification',
  'v2/ReasoningSummaryTextDeltaNotification',
  'v2/ReasoningTextDeltaNotification',
  'v2/TurnStartedNotification',
  'v2/TurnCompletedNotification',
  'v2/ThreadTokenUsageUpdatedNotification',
  'v2/ErrorNotification',
  'v2/WarningNotification',
  // requests of the server
  'v2/DynamicToolCallParams',
  'v2/DynamicToolCallResponse',
  'v2/CommandExecutionRequestApprovalParams',
  'v2/CommandExecutionRequestApprovalResponse',
  'v2/FileChangeRequestApprovalParams',
  'v2/FileChangeRequestApprovalResponse',
  'v2/PermissionsRequestApprovalParams',
  'v2/PermissionsRequestApprovalResponse',
  'v2/ToolRequestUserInputParams',
  'v2/ToolRequestUserInputResponse',
  'v2/McpServerElicitationRequestParams',
  'v2/McpServerElicitationRequestResponse',
  // account and models
  'v2/ModelListParams',
  'v2/ModelListResponse',
  'v2/GetAccountParams',
  'v2/GetAccountResponse',
];

const root = fileURLToPath(new URL('..', import.meta.url));
const codex = path.join(root, 'node_modules/@openai/codex');
const { version } = JSON.parse(readFileSync(path.join(codex, 'package.json'), 'utf8'));
const header = `// Generated from codex ${version} by \`npm run protocol:generate\`. Do not edit.\n`;
const importOf = /(from ")(\.[^"]+)(";)/g;

/** A file of codex as it is committed: one header, imports with the extension that NodeNext asks for. */
function rewrite(source) {
  const body = source.replace(/^(?:\/\/[^\n]*\n|\n)+/, '');
  return `${header}\n${body.replace(importOf, '$1$2.ts$3').trimEnd()}\n`;
}

/** The roots and all that they import, name to source, in the order of names. */
function collect(generated) {
  const files = new Map();
  const open = [...ROOTS];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (files.has(name)) continue;
    const source = readFileSync(path.join(generated, `${name}.ts`), 'utf8');
    files.set(name, rewrite(source));
    for (const [, , target] of source.matchAll(importOf)) open.push(path.posix.join(path.posix.dirname(name), target));
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What src/ imports: the roots. Two imported types share a name, so not all can be listed. */
function index(names) {
  const lines = names.map((name) => `export type { ${path.posix.basename(name)} } from './${name}.ts';`);
  return `${header}\n${lines.join('\n')}\n`;
}

const { values } = parseArgs({ options: { out: { type: 'string', default: path.join(root, 'src/codex/protocol') } } });
const scratch = mkdtempSync(path.join(tmpdir(), 'codex-protocol-'));
try {
  const generated = path.join(scratch, 'generated');
  // `--experimental`: dynamicTools, environments and additionalContext are there only with it.
  const run = spawnSync(
    process.execPath,
    [path.join(codex, 'bin/codex.js'), 'app-server', 'generate-ts', '--experimental', '--out', generated],
    { env: { ...process.env, CODEX_HOME: scratch }, encoding: 'utf8' },
  );
  if (run.status !== 0) throw new Error(`codex app-server generate-ts failed: ${run.stderr}`);
  const files = collect(generated);
  rmSync(values.out, { recursive: true, force: true });
  for (const [name, source] of [...files, ['index', index([...ROOTS].sort())]]) {
    const file = path.join(values.out, `${name}.ts`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, source);
  }
  console.error(`${files.size + 1} files in ${values.out}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
