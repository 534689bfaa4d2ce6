// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AbsolutePathBuf } from "../AbsolutePathBuf.ts";
import type { Personality } from "../Personality.ts";
import type { ResponseItem } from "../ResponseItem.ts";
import type { JsonValue } from "../serde_json/JsonValue.ts";
import type { ApprovalsReviewer } from "./ApprovalsReviewer.ts";
import type { AskForApproval } from "./AskForApproval.ts";
import type { SandboxMode } from "./SandboxMode.ts";
import type { ThreadResumeInitialTurnsPageParams } from "./ThreadResumeInitialTurnsPageParams.ts";

/**
 * There are three ways to resume a thread:
 * 1. By thread_id: load the thread from disk by thread_id and resume it.
 * 2. By history: instantiate the thread from memory and resume it.
 * 3. By path: load the thread from disk by path and resume it.
 *
 * For non-running threads, the precedence is: history > non-empty path > thread_id.
 * If using history or a non-empty path for a non-running thread, the thread_id
 * param will be ignored.
 *
 * If thread_id identifies a running thread, app-server rejoins that thread and
 * treats a non-empty path as a consistency check against the active rollout path.
 * Empty string path values are treated as absent.
 *
 * Prefer using thread_id whenever possible.
 */
export type ThreadResumeParams = { threadId: string,
/**
 * [UNSTABLE] FOR CODEX CLOUD - DO NOT USE.
 * If specified, the thread will be resumed with the provided history
 * instead of loaded from disk.
 */
history?: Array<ResponseItem> | null,
/**
 * [UNSTABLE] Specify the rollout path to resume from.
 * If specified for a non-running thread, the thread_id param will be ignored.
 * If thread_id identifies a running thread, the path must match the active
 * rollout path.
 */
path?: string | null,
/**
 * Configuration overrides for the resumed thread, if any.
 */
model?: string | null, modelProvider?: string | null, serviceTier?: string | null | null, cwd?: string | null,
/**
 * Replace the thread's runtime workspace roots. Paths must be absolute.
 */
runtimeWorkspaceRoots?: Array<AbsolutePathBuf> | null, approvalPolicy?: AskForApproval | null,
/**
 * Override where approval requests are routed for review on this thread
 * and subsequent turns.
 */
approvalsReviewer?: ApprovalsReviewer | null, sandbox?: SandboxMode | null,
/**
 * Named profile id for the resumed thread. Cannot be combined with
 * `sandbox`.
 */
permissions?: string | null, config?: { [key in string]?: JsonValue } | null, baseInstructions?: string | null, developerInstructions?: string | null,
/**
 * @deprecated `friendly` and `pragmatic` no longer select a style.
 * Changing this does not rewrite the thread's existing instructions.
 */
personality?: Personality | null,
/**
 * When true, return only thread metadata and live-resume state without
 * populating `thread.turns`. This is useful when the client plans to call
 * `thread/turns/list` immediately after resuming. Full-history hydration
 * is deprecated for paginated threads; use this with `thread/turns/list`
 * and `thread/items/list` instead.
 */
excludeTurns?: boolean,
/**
 * When present, include a `thread/turns/list` page in the resume response
 * so clients can bootstrap recent turns without a second request.
 */
initialTurnsPage?: ThreadResumeInitialTurnsPageParams | null, };
