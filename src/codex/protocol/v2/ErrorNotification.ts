// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { TurnError } from "./TurnError.ts";

export type ErrorNotification = { error: TurnError, willRetry: boolean, threadId: string, turnId: string, };
