// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { Thread } from "./Thread.ts";
import type { ThreadReadState } from "./ThreadReadState.ts";

export type ThreadReadResponse = { thread: Thread,
/**
 * Local receipt. Null means this thread's durable read state is unavailable.
 */
readState: ThreadReadState | null, };
