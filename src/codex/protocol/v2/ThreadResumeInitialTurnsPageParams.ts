// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { SortDirection } from "./SortDirection.ts";
import type { TurnItemsView } from "./TurnItemsView.ts";

export type ThreadResumeInitialTurnsPageParams = {
/**
 * Optional turn page size.
 */
limit?: number | null,
/**
 * Optional turn pagination direction; defaults to descending.
 */
sortDirection?: SortDirection | null,
/**
 * How much item detail to include for each returned turn; defaults to summary.
 */
itemsView?: TurnItemsView | null, };
