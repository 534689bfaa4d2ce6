/**
 * The CODEX_HOME of a rehearsal and the configuration that points Codex at the offline model. It lies in the session's
 * side folder, so that a rehearsed thread is never found by a real run, nor the reverse (design 7).
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The only model of a rehearsal. */
export const REHEARSAL_MODEL = 'rehearsal-1';

/** The provider's id in Codex's configuration, and the `provider` of rehearsed rows. */
export const REHEARSAL_PROVIDER = 'rehearsal';

export interface RehearsalSetupOptions {
  /** The side folder of the session (`S.attempt/`). Made when absent. */
  sideFolder: string;
  /** `baseUrl` of the offline model. */
  baseUrl: string;
  /** How often Codex repeats a request that failed before its stream began. Default `DEFAULT_REHEARSAL_RETRIES`. */
  requestMaxRetries?: number;
  /** How often Codex repeats a stream that broke. Default `DEFAULT_REHEARSAL_RETRIES`. */
  streamMaxRetries?: number;
}

export interface RehearsalSetup {
  /** Goes to the app-server as CODEX_HOME. */
  codexHome: string;
  /** Goes to the app-server as one `-c key=value` each; values are TOML. */
  configOverrides: Readonly<Record<string, string>>;
  /** Goes into the environment of the app-server: keeps a proxy from between it and the offline model. */
  env: Readonly<Record<string, string>>;
  modelProvider: typeof REHEARSAL_PROVIDER;
  model: typeof REHEARSAL_MODEL;
}

/** None: a scripted error ends its turn at once. */
export const DEFAULT_REHEARSAL_RETRIES = 0;

/**
 * What Codex should know of the model. Without it every turn warns that it knows nothing. The figures are those of a
 * usual model, so that compaction and the cutting of tool outputs happen where they do in earnest.
 */
const MODEL_CATALOG = {
  models: [
    {
      slug: REHEARSAL_MODEL,
      display_name: 'Rehearsal',
      description: 'Answers offline from a script.',
      base_instructions: 'This is a rehearsal: answers come from a script, no model is asked.',
      default_reasoning_level: 'medium',
      supported_reasoning_levels: [{ effort: 'medium', description: 'The only one' }],
      shell_type: 'unified_exec',
      visibility: 'list',
      supported_in_api: true,
      priority: 1,
      supports_reasoning_summaries: true,
      default_reasoning_summary: 'auto',
      support_verbosity: false,
      default_verbosity: null,
      apply_patch_tool_type: 'freeform',
      truncation_policy: { mode: 'tokens', limit: 10_000 },
      supports_parallel_tool_calls: true,
      context_window: 272_000,
      max_context_window: 272_000,
      effective_context_window_percent: 95,
      experimental_supported_tools: [],
      input_modalities: ['text', 'image'],
    },
  ],
};

/** Makes the folder (mode 0700) and gives the configuration. Rejects with what the file system says. */
export async function rehearsalSetup(options: RehearsalSetupOptions): Promise<RehearsalSetup> {
  const codexHome = join(options.sideFolder, 'rehearsal', 'codex-home');
  await mkdir(codexHome, { recursive: true, mode: 0o700 });
  const catalog = join(codexHome, 'model-catalog.json');
  await writeFile(catalog, `${JSON.stringify(MODEL_CATALOG, null, 2)}\n`, { mode: 0o600 });
  const provider = `model_providers.${REHEARSAL_PROVIDER}`;
  return {
    codexHome,
    configOverrides: {
      model: tomlString(REHEARSAL_MODEL),
      model_provider: tomlString(REHEARSAL_PROVIDER),
      model_catalog_json: tomlString(catalog),
      [`${provider}.name`]: tomlString('Rehearsal'),
      [`${provider}.base_url`]: tomlString(options.baseUrl),
      [`${provider}.wire_api`]: tomlString('responses'),
      [`${provider}.requires_openai_auth`]: 'false',
      [`${provider}.request_max_retries`]: String(options.requestMaxRetries ?? DEFAULT_REHEARSAL_RETRIES),
      [`${provider}.stream_max_retries`]: String(options.streamMaxRetries ?? DEFAULT_REHEARSAL_RETRIES),
      check_for_update_on_startup: 'false',
      'analytics.enabled': 'false',
      // Plug-ins are fetched from the network at the start.
      'features.plugins': 'false',
      // The bundled skills would put the path of this folder into each request, so that no two sessions were alike.
      'skills.bundled.enabled': 'false',
    },
    env: { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' },
    modelProvider: REHEARSAL_PROVIDER,
    model: REHEARSAL_MODEL,
  };
}

/** A TOML basic string: JSON's escapes are TOML's, but for DEL, which TOML does not take bare. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007F');
}
