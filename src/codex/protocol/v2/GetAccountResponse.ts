// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { Account } from "./Account.ts";
import type { WorkspaceRouting } from "./WorkspaceRouting.ts";

export type GetAccountResponse = { account: Account | null,
/**
 * ChatGPT user ID belonging to this account response, when available.
 */
userId: string | null, requiresOpenaiAuth: boolean, workspaceRouting: WorkspaceRouting | null, };
