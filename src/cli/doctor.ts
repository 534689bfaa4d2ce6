import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { compareVersions, MIN_CODEX_VERSION, TESTED_CODEX_VERSION } from '../codex/version.ts';
import { hostCapabilities, resolveEngineRequirements } from '../engine/requirements.ts';
import { isAttemptError, messageOf } from '../errors.ts';
import { silentLogger } from '../observe/silent.ts';
import { PACKAGE_VERSION } from '../package-info.ts';
import { createServices } from '../services.ts';
import { DOCTOR_FLAGS } from './command-flags.ts';
import { apiKeys, codexHome, loadSettings, NO_HOME, type Settings } from './config.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { parseFlags, usageError } from './flags.ts';
import { type CliIo, type GuardedIo, variable, writeOut } from './io.ts';
import { loadPlugins } from './plugins.ts';
import { forPeople, painter } from './progress.ts';

/** One thing that an attempt needs. `missing`: it cannot run so; `warn`: it can. `detail` says how to get it. */
export interface Finding {
  name: 'version' | 'node' | 'codex' | 'credentials' | 'codex-home' | 'attempt-home' | 'engine';
  status: 'ok' | 'warn' | 'missing';
  detail: string;
}

const MIN_NODE_VERSION = '20.19.0';
/** Milliseconds that the app-server gets to answer. */
const CONNECT_MS = 45_000;

/** `codex-attempt doctor`: what is there, what is missing and how to get it. 1 when something is missing. */
export async function doctor(argv: readonly string[], io: GuardedIo): Promise<ExitCode> {
  const { flags, words } = parseFlags(argv, DOCTOR_FLAGS, 'doctor');
  if (words[0] !== undefined) throw usageError(`unexpected argument ${JSON.stringify(words[0])}`, 'doctor');
  const settings = await loadSettings(io, flags, io.cwd);
  const found: Finding[] = [
    { name: 'version', status: 'ok', detail: PACKAGE_VERSION },
    nodeFinding(process.versions.node),
    ...(await codexFindings(io, settings)),
    await codexHomeFinding(io),
    await attemptHomeFinding(settings),
    ...(await engineFindings(io, settings)),
  ];
  const findings = found.map((finding) => ({ ...finding, detail: forPeople(finding.detail) }));
  const ok = findings.every((finding) => finding.status !== 'missing');
  if (flags.json === true) {
    await writeOut(io.stdout, `${JSON.stringify({ type: 'doctor', ok, findings })}\n`);
  } else {
    const paint = painter(io.stdout, io.env);
    const colour = { ok: 'green', warn: 'yellow', missing: 'red' } as const;
    const lines = findings.map(
      ({ name, status, detail }) => `${paint(colour[status], status.padEnd(7))} ${name.padEnd(12)} ${detail}`,
    );
    await writeOut(io.stdout, `${lines.join('\n')}\n`);
  }
  return ok ? EXIT.ok : EXIT.failed;
}

/** Whether this Node is new enough. `version` is `1.2.3`. */
export function nodeFinding(version: string): Finding {
  const isOld = compareVersions(version, MIN_NODE_VERSION) < 0;
  return {
    name: 'node',
    status: isOld ? 'missing' : 'ok',
    detail: isOld ? `${version} is too old: install Node ${MIN_NODE_VERSION} or newer` : version,
  };
}

/** Whether this codex is one that was tested. */
export function codexVersionFinding(version: string): Finding {
  const isNewer = compareVersions(version, TESTED_CODEX_VERSION) > 0;
  const tested = `tested with ${MIN_CODEX_VERSION} to ${TESTED_CODEX_VERSION}`;
  return {
    name: 'codex',
    status: isNewer ? 'warn' : 'ok',
    detail: isNewer ? `${version} is newer than was ${tested}` : `${version}, ${tested}`,
  };
}

async function codexFindings(io: CliIo, settings: Settings): Promise<Finding[]> {
  const opened = await createServices({
    cwd: io.cwd,
    // Never opened: the app-server alone is asked.
    sessionFile: path.join(io.cwd, 'doctor.jsonl'),
    env: io.env,
    keys: apiKeys(io),
    logger: silentLogger,
    ...(settings.codexPath === undefined ? {} : { codexCommand: settings.codexPath }),
  });
  try {
    const { version } = await opened.services.appServer.connect(AbortSignal.timeout(CONNECT_MS));
    return [codexVersionFinding(version), { name: 'credentials', status: 'ok', detail: 'Codex can ask a model' }];
  } catch (error) {
    const code = isAttemptError(error) ? error.code : 'internal';
    if (code === 'codex_no_credentials') {
      const version = isAttemptError(error) ? error.data['version'] : undefined;
      return [
        ...(typeof version === 'string' ? [codexVersionFinding(version)] : []),
        { name: 'credentials', status: 'missing', detail: messageOf(error) },
      ];
    }
    return [{ name: 'codex', status: 'missing', detail: messageOf(error) }];
  } finally {
    await opened.close();
  }
}

/** A folder that is written to: it is there and writable, or it can be made. */
async function folderFinding(name: Finding['name'], folder: string, variableName: string): Promise<Finding> {
  try {
    const nearest = await nearestExisting(folder);
    await access(nearest, constants.W_OK | constants.X_OK);
    return { name, status: 'ok', detail: nearest === folder ? folder : `${folder} (will be made)` };
  } catch (error) {
    const detail = `${folder} cannot be written: ${messageOf(error)}; make it writable, or name another with ${variableName}`;
    return { name, status: 'missing', detail };
  }
}

async function nearestExisting(folder: string): Promise<string> {
  const facts = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (facts === null) return await nearestExisting(path.dirname(folder));
  if (!facts.isDirectory()) throw new Error(`${folder} is not a folder`);
  return folder;
}

async function attemptHomeFinding({ home }: Settings): Promise<Finding> {
  if (home !== null) return await folderFinding('attempt-home', home, 'CODEX_ATTEMPT_HOME');
  const detail = `${NO_HOME}: set HOME or CODEX_ATTEMPT_HOME, or name each session with --session`;
  return { name: 'attempt-home', status: 'missing', detail };
}

/** Codex makes its default home but not one that CODEX_HOME names. */
async function codexHomeFinding(io: CliIo): Promise<Finding> {
  const folder = codexHome(io);
  if (folder === null) {
    return { name: 'codex-home', status: 'missing', detail: `${NO_HOME}: set HOME or CODEX_HOME` };
  }
  const finding = await folderFinding('codex-home', folder, 'CODEX_HOME');
  if (variable(io.env, 'CODEX_HOME') === undefined || finding.detail === folder || finding.status !== 'ok')
    return finding;
  return {
    name: 'codex-home',
    status: 'missing',
    detail: `CODEX_HOME names a folder that is not there: mkdir -p ${folder}`,
  };
}

async function engineFindings({ guard }: GuardedIo, settings: Settings): Promise<Finding[]> {
  if (settings.engine === undefined) return [];
  try {
    const plugins = await loadPlugins({ settings: { ...settings, hooks: [], tools: [] }, logger: silentLogger, guard });
    try {
      if (plugins.engine !== null)
        resolveEngineRequirements(plugins.engine, 'agent-run', hostCapabilities({ completion: false }));
      return [{ name: 'engine', status: 'ok', detail: `${plugins.engineId ?? 'none'} (${settings.engine.spec})` }];
    } finally {
      await plugins.dispose();
    }
  } catch (error) {
    return [{ name: 'engine', status: 'missing', detail: messageOf(error) }];
  }
}
