// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadItem } from "./ThreadItem.ts";

export type ItemCompletedNotification = { item: ThreadItem, threadId: string, turnId: string,
/**
 * Native content tokens for the completed assistant message, including a sampled footer.
 * Null when unavailable. Completion telemetry is not part of the stored thread item.
 */
contentTokenCount?: number | null,
/**
 * Unix timestamp (in milliseconds) when this item lifecycle completed.
 */
completedAtMs: number, };
