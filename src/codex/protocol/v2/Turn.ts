// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadItem } from "./ThreadItem.ts";
import type { TurnError } from "./TurnError.ts";
import type { TurnItemsView } from "./TurnItemsView.ts";
import type { TurnStatus } from "./TurnStatus.ts";

export type Turn = {
/**
 * Identifier for this turn. Codex-generated turn IDs are UUIDv7.
 */
id: string,
/**
 * ID of the first turn in the chain of work that led to this turn.
 * Pass this as `rootTurnId` when starting work on behalf of this turn.
 * May be null in older history or a `review/start` response.
 */
rootTurnId: string | null,
/**
 * Thread items currently included in this turn payload.
 */
items: Array<ThreadItem>,
/**
 * Describes how much of `items` has been loaded for this turn.
 */
itemsView: TurnItemsView, status: TurnStatus,
/**
 * Error associated with a failed or interrupted turn.
 */
error: TurnError | null,
/**
 * Unix timestamp (in seconds) when the turn started.
 */
startedAt: number | null,
/**
 * Unix timestamp (in seconds) when the turn completed.
 */
completedAt: number | null,
/**
 * Duration between turn start and completion in milliseconds, if known.
 */
durationMs: number | null, };
