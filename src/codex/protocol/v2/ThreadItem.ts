// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { FunctionCallOutputBody } from "../FunctionCallOutputBody.ts";
import type { ImageGenerationItem } from "../ImageGenerationItem.ts";
import type { LegacyAppPathString } from "../LegacyAppPathString.ts";
import type { MessagePhase } from "../MessagePhase.ts";
import type { ReasoningEffort } from "../ReasoningEffort.ts";
import type { SleepItem } from "../SleepItem.ts";
import type { WebSearchItem } from "../WebSearchItem.ts";
import type { JsonValue } from "../serde_json/JsonValue.ts";
import type { AgentMessageDelivery } from "./AgentMessageDelivery.ts";
import type { AgentMessageModeration } from "./AgentMessageModeration.ts";
import type { AsyncUserInputQuestion } from "./AsyncUserInputQuestion.ts";
import type { CollabAgentState } from "./CollabAgentState.ts";
import type { CollabAgentTool } from "./CollabAgentTool.ts";
import type { CollabAgentToolCallStatus } from "./CollabAgentToolCallStatus.ts";
import type { CommandAction } from "./CommandAction.ts";
import type { CommandExecutionSource } from "./CommandExecutionSource.ts";
import type { CommandExecutionStatus } from "./CommandExecutionStatus.ts";
import type { DynamicToolCallOutputContentItem } from "./DynamicToolCallOutputContentItem.ts";
import type { DynamicToolCallStatus } from "./DynamicToolCallStatus.ts";
import type { FileUpdateChange } from "./FileUpdateChange.ts";
import type { HookPromptFragment } from "./HookPromptFragment.ts";
import type { McpAppUi } from "./McpAppUi.ts";
import type { McpToolCallAppContext } from "./McpToolCallAppContext.ts";
import type { McpToolCallError } from "./McpToolCallError.ts";
import type { McpToolCallResult } from "./McpToolCallResult.ts";
import type { McpToolCallStatus } from "./McpToolCallStatus.ts";
import type { MemoryCitation } from "./MemoryCitation.ts";
import type { PatchApplyStatus } from "./PatchApplyStatus.ts";
import type { SubAgentActivityKind } from "./SubAgentActivityKind.ts";
import type { UserInput } from "./UserInput.ts";

/**
 * A thread item and its recorded lifecycle times. The payload stays flat on the wire.
 */
export type ThreadItem = {
/**
 * Unix timestamp in milliseconds when the item started, if recorded.
 */
startedAtMs?: number | null,
/**
 * Unix timestamp in milliseconds when the item completed, if recorded.
 */
completedAtMs?: number | null, } & ({ "type": "userMessage", id: string, clientId: string | null, content: Array<UserInput>, } | { "type": "hookPrompt", id: string, fragments: Array<HookPromptFragment>, } | { "type": "agentMessage", moderation: AgentMessageModeration | null, id: string, text: string, phase: MessagePhase | null, memoryCitation: MemoryCitation | null, delivery: AgentMessageDelivery | null, questions: Array<AsyncUserInputQuestion> | null, } | { "type": "functionCallOutput", id: string, name: string, namespace: string | null, output: FunctionCallOutputBody, } | { "type": "plan", id: string, text: string, } | { "type": "reasoning", id: string, summary: Array<string>, content: Array<string>, } | { "type": "commandExecution", id: string,
/**
 * Trusted first-party plugin id when this command resolves to one plugin script.
 */
pluginId: string | null,
/**
 * Safe plugin-relative path when this command resolves to one plugin script.
 */
scriptPath: string | null,
/**
 * The command to be executed.
 */
command: string,
/**
 * The command's working directory.
 */
cwd: LegacyAppPathString,
/**
 * Identifier for the underlying PTY process (when available).
 */
processId: string | null, source: CommandExecutionSource, status: CommandExecutionStatus,
/**
 * A best-effort parsing of the command to understand the action(s) it will perform.
 * This returns a list of CommandAction objects because a single shell command may
 * be composed of many commands piped together.
 */
commandActions: Array<CommandAction>,
/**
 * The command's output, aggregated from stdout and stderr.
 */
aggregatedOutput: string | null,
/**
 * The command's exit code.
 */
exitCode: number | null,
/**
 * The duration of the command execution in milliseconds.
 */
durationMs: number | null, } | { "type": "fileChange", id: string, changes: Array<FileUpdateChange>, status: PatchApplyStatus, } | { "type": "mcpToolCall", id: string, server: string,
/**
 * Registration scope, not necessarily the server's execution environment.
 */
environmentId: string | null, tool: string, status: McpToolCallStatus, arguments: JsonValue, appContext: McpToolCallAppContext | null,
/**
 * Legacy compatibility field; prefer `mcpAppUi.resourceUri` when available.
 */
mcpAppResourceUri?: string,
/**
 * Presentation captured from the invoked descriptor; absent in older history.
 */
mcpAppUi: McpAppUi | null, pluginId: string | null, readOnlyHint: boolean | null, result: McpToolCallResult | null, error: McpToolCallError | null,
/**
 * The duration of the MCP tool call in milliseconds.
 */
durationMs: number | null, } | { "type": "dynamicToolCall", id: string, namespace: string | null, tool: string, arguments: JsonValue, status: DynamicToolCallStatus, contentItems: Array<DynamicToolCallOutputContentItem> | null, success: boolean | null,
/**
 * The duration of the dynamic tool call in milliseconds.
 */
durationMs: number | null, } | { "type": "collabAgentToolCall",
/**
 * Unique identifier for this collab tool call.
 */
id: string,
/**
 * Name of the collab tool that was invoked.
 */
tool: CollabAgentTool,
/**
 * Current status of the collab tool call.
 */
status: CollabAgentToolCallStatus,
/**
 * Thread ID of the agent issuing the collab request.
 */
senderThreadId: string,
/**
 * Thread ID of the receiving agent, when applicable. In case of spawn operation,
 * this corresponds to the newly spawned agent.
 */
receiverThreadIds: Array<string>,
/**
 * Prompt text sent as part of the collab tool call, when available.
 */
prompt: string | null,
/**
 * Model requested for the spawned agent, when applicable.
 */
model: string | null,
/**
 * Reasoning effort requested for the spawned agent, when applicable.
 */
reasoningEffort: ReasoningEffort | null,
/**
 * Last known status of the target agents, when available.
 */
agentsStates: { [key in string]?: CollabAgentState }, } | { "type": "subAgentActivity",
/**
 * Resolved model at sub-agent creation; absent from older records and other activities.
 */
model: string | null,
/**
 * Resolved reasoning effort at sub-agent creation, when known.
 */
reasoningEffort: ReasoningEffort | null, id: string, kind: SubAgentActivityKind, agentThreadId: string, agentPath: string, } | { "type": "webSearch" } & WebSearchItem | { "type": "imageView", id: string, path: LegacyAppPathString, } | { "type": "sleep" } & SleepItem | { "type": "imageGeneration" } & ImageGenerationItem | { "type": "enteredReviewMode", id: string, review: string, } | { "type": "exitedReviewMode", id: string, review: string, } | { "type": "contextCompaction", id: string, });
