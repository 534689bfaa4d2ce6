// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { MemoryCitationEntry } from "./MemoryCitationEntry.ts";

export type MemoryCitation = { entries: Array<MemoryCitationEntry>, threadIds: Array<string>, };
