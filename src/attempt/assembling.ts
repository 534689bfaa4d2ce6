import { assembleHarnessContextEngine } from '../engine/context-engine-lifecycle.ts';
import { AttemptError, messageOf } from '../errors.ts';
import { toolFingerprint } from '../tools/fingerprint.ts';
import { toDynamicToolSpecs, toolNames } from '../tools/tool-specs.ts';
import { engineLogFields, engineSession, tracedEngineCall } from './engine-call.ts';
import { type AttemptRecord, activeEngine, historyOf, type ToolsSlot } from './record.ts';

/**
 * `assembling` (spec 2.4): tools are built first, so that the engine sees their real names, then the engine assembles.
 * Fails with `tools_failed` when the tools cannot be offered; any other failure is the engine's and means the baseline.
 */
export async function assemble(record: AttemptRecord, signal: AbortSignal): Promise<void> {
  delete record.slots.assembly;
  const tools = buildTools(record);
  record.slots.tools = tools;

  const engine = activeEngine(record);
  if (engine === null) return;
  const history = historyOf(record);
  const answer = await tracedEngineCall(record, 'assemble', () =>
    assembleHarnessContextEngine({
      ...engineSession(record, signal),
      messages: history.messages,
      tokenBudget: record.params.tokenBudget,
      availableTools: tools.names,
      citationsMode: record.params.citationsMode ?? undefined,
      modelId: record.params.model ?? '',
      prompt: record.params.prompt,
    }),
  );
  if (!answer.ok) throw answer.error;
  record.slots.assembly = answer.result;
  record.services.logger.debug('codex context engine assemble applied', {
    ...engineLogFields(record),
    assembledMessageCount: answer.result.messages.length,
    estimatedTokens: answer.result.estimatedTokens,
    hasSystemPromptAddition: answer.result.systemPromptAddition !== undefined,
  });
}

function buildTools(record: AttemptRecord): ToolsSlot {
  const { tools } = record.services;
  try {
    return { tools, specs: toDynamicToolSpecs(tools), fingerprint: toolFingerprint(tools), names: toolNames(tools) };
  } catch (error) {
    throw new AttemptError('tools_failed', messageOf(error), { cause: error });
  }
}
