// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { Turn } from "./Turn.ts";

export type TurnStartResponse = { turn: Turn, };
