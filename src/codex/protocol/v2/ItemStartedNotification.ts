// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadItem } from "./ThreadItem.ts";

export type ItemStartedNotification = { item: ThreadItem, threadId: string, turnId: string,
/**
 * Unix timestamp (in milliseconds) when this item lifecycle started.
 */
startedAtMs: number, };
