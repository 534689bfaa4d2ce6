// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ThreadActiveFlag } from "./ThreadActiveFlag.ts";

export type ThreadStatus = { "type": "notLoaded" } | { "type": "idle" } | { "type": "systemError" } | { "type": "active", activeFlags: Array<ThreadActiveFlag>, };
