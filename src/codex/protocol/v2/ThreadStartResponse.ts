// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AbsolutePathBuf } from "../AbsolutePathBuf.ts";
import type { LegacyAppPathString } from "../LegacyAppPathString.ts";
import type { MultiAgentMode } from "../MultiAgentMode.ts";
import type { ReasoningEffort } from "../ReasoningEffort.ts";
import type { ActivePermissionProfile } from "./ActivePermissionProfile.ts";
import type { ApprovalsReviewer } from "./ApprovalsReviewer.ts";
import type { AskForApproval } from "./AskForApproval.ts";
import type { SandboxPolicy } from "./SandboxPolicy.ts";
import type { Thread } from "./Thread.ts";

export type ThreadStartResponse = { thread: Thread, model: string, modelProvider: string, serviceTier: string | null,
/**
 * Saved list of disabled plugin IDs. Does not yet filter plugin capabilities.
 */
disabledPluginIds: Array<string>, cwd: AbsolutePathBuf,
/**
 * Thread-scoped runtime workspace roots used to materialize
 * `:workspace_roots`.
 */
runtimeWorkspaceRoots: Array<AbsolutePathBuf>,
/**
 * Environment-native paths to instruction source files currently loaded for this thread.
 */
instructionSources: Array<LegacyAppPathString>, approvalPolicy: AskForApproval,
/**
 * Reviewer currently used for approval requests on this thread.
 */
approvalsReviewer: ApprovalsReviewer,
/**
 * Legacy sandbox policy retained for compatibility. Experimental clients
 * should prefer `activePermissionProfile` for profile provenance.
 */
sandbox: SandboxPolicy,
/**
 * Named or implicit built-in profile that produced the active
 * permissions, when known.
 */
activePermissionProfile: ActivePermissionProfile | null, reasoningEffort: ReasoningEffort | null,
/**
 * @deprecated Always `explicitRequestOnly`. Use `reasoningEffort` for Ultra behavior.
 */
multiAgentMode: MultiAgentMode, };
