/** Functions of the host that the model may call: what Codex is told of them, and what answers their calls. */
export {
  createToolCallHandler,
  TOOL_CALL_DEFAULTS,
  type ToolCallOptions,
  type ToolCallReport,
  type ToolCallResponse,
} from './tool-calls.ts';
export {
  checkTools,
  type DynamicFunction,
  type DynamicToolSpec,
  toDynamicToolSpecs,
  toolName,
  toolNames,
} from './tool-specs.ts';
