// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AbsolutePathBuf } from "../AbsolutePathBuf.ts";
import type { CollaborationMode } from "../CollaborationMode.ts";
import type { MultiAgentMode } from "../MultiAgentMode.ts";
import type { Personality } from "../Personality.ts";
import type { ReasoningEffort } from "../ReasoningEffort.ts";
import type { ReasoningSummary } from "../ReasoningSummary.ts";
import type { JsonValue } from "../serde_json/JsonValue.ts";
import type { AdditionalContextEntry } from "./AdditionalContextEntry.ts";
import type { ApprovalsReviewer } from "./ApprovalsReviewer.ts";
import type { AskForApproval } from "./AskForApproval.ts";
import type { CyberAccessProgram } from "./CyberAccessProgram.ts";
import type { SandboxPolicy } from "./SandboxPolicy.ts";
import type { TurnEnvironmentParams } from "./TurnEnvironmentParams.ts";
import type { TurnToolOutput } from "./TurnToolOutput.ts";
import type { UserInput } from "./UserInput.ts";

export type TurnStartParams = { threadId: string,
/**
 * Replace this thread's disabled plugin IDs.
 * Omitted/null preserves the list; [] clears it.
 */
disabledPluginIds?: Array<string> | null, clientUserMessageId?: string | null, input: Array<UserInput>,
/**
 * Optional source classification for the caller that starts this turn.
 * Ignored when this request steers an already-active turn.
 */
turnTrigger?: string | null,
/**
 * ID of the turn that caused this new turn to start.
 *
 * Set this when starting work on behalf of another turn, such as delegated
 * work in a different thread. Leave unset for work started directly by the
 * user. Ignored when this request adds input to an active turn.
 */
parentTurnId?: string | null,
/**
 * ID of the first turn in the chain of work that led to this new turn.
 *
 * When setting `parentTurnId`, set this to the parent turn's `rootTurnId`
 * when known. This keeps descendant work attributed to the original turn.
 * If omitted, the new turn becomes its own root. Ignored when this request
 * adds input to an active turn.
 */
rootTurnId?: string | null, toolOutput?: TurnToolOutput | null,
/**
 * Optional metadata to enrich Codex's ResponsesAPI turn metadata.
 * Replaces unprotected client-provided entries when supplied; an empty map clears them.
 *
 * Entries are flattened into the JSON string sent as
 * `client_metadata["x-codex-turn-metadata"]` on ResponsesAPI HTTP and websocket requests.
 *
 * They are not sent as top-level ResponsesAPI `client_metadata` keys, and reserved keys
 * such as `session_id`, `thread_id`, `turn_id`, and `window_id` cannot be overridden.
 */
responsesapiClientMetadata?: { [key in string]?: string } | null,
/**
 * Merge entries into the ResponsesAPI turn metadata without removing existing entries.
 * Applied after `responsesapiClientMetadata` if both are provided; reserved keys remain protected.
 */
responsesapiClientMetadataPatch?: { [key in string]?: string } | null,
/**
 * Optional client-provided context fragments keyed by an opaque source identifier.
 */
additionalContext?: { [key in string]?: AdditionalContextEntry } | null,
/**
 * Optional environments for this turn and subsequent turns.
 *
 * Omitted uses the thread sticky environments. Empty disables
 * environment access for this turn. Non-empty selects the first
 * environment as the current turn environment for this turn.
 */
environments?: Array<TurnEnvironmentParams> | null,
/**
 * Override the working directory for this turn and subsequent turns.
 */
cwd?: string | null,
/**
 * Replace the thread's runtime workspace roots for this turn and
 * subsequent turns. Paths must be absolute.
 */
runtimeWorkspaceRoots?: Array<AbsolutePathBuf> | null,
/**
 * Override the approval policy for this turn and subsequent turns.
 */
approvalPolicy?: AskForApproval | null,
/**
 * Override where approval requests are routed for review on this turn and
 * subsequent turns.
 */
approvalsReviewer?: ApprovalsReviewer | null,
/**
 * Override the sandbox policy for this turn and subsequent turns.
 */
sandboxPolicy?: SandboxPolicy | null,
/**
 * Select a named permissions profile id for this turn and subsequent
 * turns. Cannot be combined with `sandboxPolicy`.
 */
permissions?: string | null,
/**
 * Override the model for this turn and subsequent turns.
 */
model?: string | null,
/**
 * Override the service tier for this turn and subsequent turns.
 */
serviceTier?: string | null | null,
/**
 * Override the service tier only when this request starts a new turn.
 * Use "default" for standard speed. Omitted or null inherits the thread's tier.
 * Does not change the thread's tier or a turn being steered.
 */
serviceTierForTurn?: string | null,
/**
 * Override the reasoning effort for this turn and subsequent turns.
 */
effort?: ReasoningEffort | null,
/**
 * Override the reasoning summary for this turn and subsequent turns.
 */
summary?: ReasoningSummary | null,
/**
 * @deprecated `friendly` and `pragmatic` no longer select a style.
 * Changing this does not rewrite the thread's existing instructions.
 */
personality?: Personality | null,
/**
 * Optional JSON Schema used to constrain the final assistant message for
 * this turn.
 */
outputSchema?: JsonValue | null,
/**
 * EXPERIMENTAL - Set a pre-set collaboration mode.
 * Takes precedence over model, reasoning_effort, and developer instructions if set.
 *
 * For `collaboration_mode.settings.developer_instructions`, `null` means
 * "use the built-in instructions for the selected mode".
 */
collaborationMode?: CollaborationMode | null,
/**
 * @deprecated Ignored. Use `effort: "ultra"` for proactive multi-agent behavior.
 */
multiAgentMode?: MultiAgentMode | null,
/**
 * EXPERIMENTAL - Request an authorized cyber program for this
 * turn. Omission preserves automatic behavior. This does not grant access.
 */
cyberAccessProgram?: CyberAccessProgram | null, };
