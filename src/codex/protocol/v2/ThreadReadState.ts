// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadUnreadPosition } from "./ThreadUnreadPosition.ts";

/**
 * The first unread position in a durable local thread. A null position means read.
 * The opaque revision guards edits against activity or marks the caller has not seen.
 */
export type ThreadReadState = { firstUnread: ThreadUnreadPosition | null, revision: string, };
